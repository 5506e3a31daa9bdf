"""Functions shared by the commands of chapters that measure weights or trained models once and record a table."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from attngeo.errors import AttngeoError
from attngeo.files.atomic import write_text
from attngeo.files.provenance import sha256


def write_rows(file: Path, rows: Sequence[dict] | pd.DataFrame, digits: int = 6) -> None:
    """Write a table as CSV.

    Args:
        file: where to write it.
        rows: the table, or its rows by column.
        digits: significant digits of its numbers.
    """
    write_text(file, pd.DataFrame(rows).to_csv(index=False, float_format=f"%.{digits}g"))


def with_former_runs(file: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The rows in a file of runs that are not in a table, whose models may be gone, followed by the table.

    Args:
        file: a CSV with a column run, which need not exist.
        table: new rows, with the same columns.
    """
    if not file.exists():
        return table
    former = pd.read_csv(file)
    return pd.concat([former[~former["run"].isin(table["run"])], table])


def weights_read(folder: str, *further: str) -> dict[str, str]:
    """SHA-256 of every safetensors file directly in a folder, by its path in the folder.

    Args:
        folder: of a model.
        further: patterns of other files to include.
    """
    files = sorted(file for pattern in ("*.safetensors", *further) for file in Path(folder).glob(pattern))
    return {str(file.relative_to(folder)): sha256(file) for file in files}


def as_command(record: Callable[..., object], *arguments: object) -> None:
    """Call a function as a command: if it raises an `AttngeoError`, the command ends with the error's sentence."""
    try:
        record(*arguments)
    except AttngeoError as error:
        sys.exit(str(error))
