"""What the package index shows: the readme, its links absolute where CITATION.cff names the address of the code."""

import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).parent
OF_THE_BOOK = {"livingpaper": "book", "chapters": "notebooks"}  # packages, and their folders
address = re.search(r"^repository-code: *[\"']?([^\"'\s]+)", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
readme = (ROOT / "README.md").read_text("utf-8")
if address:
    readme = re.sub(r"\]\((?!https?:|#)", f"]({address[1].removesuffix('.git').rstrip('/')}/blob/main/", readme)


class Checkout(editable_wheel):
    """``pip install -e`` finds the packages of the book, too. A wheel contains attngeo alone."""

    def run(self) -> None:
        """Install the checkout."""
        folders = {name: f"{folder}/{name}" for name, folder in OF_THE_BOOK.items()}
        self.distribution.package_dir = {**(self.distribution.package_dir or {}), **folders}
        for name, folder in OF_THE_BOOK.items():
            self.distribution.packages += find_packages(folder, include=[name, f"{name}.*"])
        super().run()


urls = {"Paper": "https://arxiv.org/abs/2502.10927"} | ({"Source": address[1]} if address else {})
setup(
    cmdclass={"editable_wheel": Checkout},
    long_description=readme,
    long_description_content_type="text/markdown",
    project_urls=urls,
)
