"""What a record was made with: device, versions, commit, files. It stands in records, and it makes a page stale."""

import hashlib
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

PACKAGES = ("torch", "transformers", "numpy", "scipy", "pandas", "matplotlib", "seaborn")


def versions() -> dict[str, str]:
    """Of Python and of the packages that can change a number or a figure."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def device() -> str:
    """The GPU if this process has used one, else the processor and the threads that torch uses on it."""
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


def commit(root: Path) -> str | None:
    """The commit checked out at ``root``, with a note where tracked files differ from it; None outside git."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        name = git("rev-parse", "--short=10", "HEAD")
        return f"{name} with local changes" if git("status", "--porcelain", "--untracked-files=no") else name
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
