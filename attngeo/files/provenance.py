"""The provenance of a record: device, versions, commit and files. If it changes, pages are executed again."""

import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

PUBLIC = r"(?:https?://(?:[^@/]*@)?|(?:ssh://)?git@)(github\.com|gitlab\.com|codeberg\.org)[:/](.+?)(?:\.git)?/?"
PACKAGES = ("torch", "transformers", "numpy", "scipy", "pandas", "matplotlib", "seaborn")


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """The versions of Python and of packages, by default of those that can change a number or a figure."""
    installed = {"python": platform.python_version()}
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


def device() -> str:
    """The GPU if this process has used one, and otherwise the processor with the number of threads of torch."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        return torch.cuda.get_device_name()
    threads = torch.get_num_threads() if torch is not None else 1
    return f"{_processor()}, {threads} thread{'s' if threads > 1 else ''}"


def sha256(path: str | os.PathLike) -> str:
    """Hexadecimal SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def hardware(device: str) -> dict[str, Any]:
    """The hardware of a training run: processor, cores, threads, and the GPUs if ``device`` is a GPU."""
    import torch

    on_gpu = device.startswith("cuda")
    gpu = {"gpu": torch.cuda.get_device_name(), "gpus": torch.cuda.device_count()} if on_gpu else {}
    cores = {"cpu": _processor(), "cores": os.cpu_count() or 0, "threads": torch.get_num_threads()}
    return cores | {"device": device} | gpu


def head(root: Path) -> str | None:
    """The full name of the commit that is checked out at ``root``, or None outside git."""
    return _git(root, "rev-parse", "HEAD")


def commit(root: Path) -> str | None:
    """The short name of the commit at ``root``, with a note if tracked files differ; None outside git."""
    name = _git(root, "rev-parse", "--short=10", "HEAD")
    return f"{name} with local changes" if name and _git(root, "status", "--porcelain", "-uno") else name


def repository(root: Path) -> str:
    """The address of the code: ``repository-code`` of CITATION.cff, or the origin of git if it is on a public host."""
    citation = root / "CITATION.cff"
    named = yaml.safe_load(citation.read_text("utf-8")).get("repository-code") if citation.exists() else None
    public = re.fullmatch(PUBLIC, _git(root, "remote", "get-url", "origin") or "")
    return (named or (f"https://{public[1]}/{public[2]}" if public else "")).rstrip("/").removesuffix(".git")


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
