"""The long description: the readme, its links absolute where CITATION.cff names the address of the code."""

import re
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
address = re.search(r"^repository-code: *[\"']?([^\"'\s]+)", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
readme = (ROOT / "README.md").read_text("utf-8")
if address:
    readme = re.sub(r"\]\((?!https?:|#)", f"]({address[1].removesuffix('.git').rstrip('/')}/blob/main/", readme)
setup(long_description=readme, long_description_content_type="text/markdown")
