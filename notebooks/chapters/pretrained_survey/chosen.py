"""The models that the page on encoders and decoders compares, once the reader has left out some families."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from attngeo.errors import ParameterError
from chapters.pretrained_survey.measures import recorded_weights
from chapters.pretrained_survey.sizes import PARTS, halves_by_size, read_by_size, released_by_size
from livingpaper.released_results import released_results

FEWEST = 2  # families of encoders and of decoders that a comparison of families needs


@dataclass(frozen=True)
class Chosen:
    """Released results and models whose weights were read, without the families that are left out."""

    results: pd.DataFrame
    stacks: pd.DataFrame

    @property
    def released(self) -> pd.DataFrame:
        """Released language models that count, with their sizes."""
        return released_by_size(self.results)

    @property
    def halves(self) -> pd.DataFrame:
        """The encoders and the decoders of released encoder-decoder models, with the size of the whole model."""
        return halves_by_size(self.results)

    @property
    def read(self) -> pd.DataFrame:
        """Language models whose weights were read and whose size is known."""
        return read_by_size(self.stacks)

    @property
    def every(self) -> pd.DataFrame:
        """All of these models, with a column ``source``: released, half or read."""
        sources = {"released": self.released, "half": self.halves, "read": self.read}
        return pd.concat([rows.assign(source=source) for source, rows in sources.items()], ignore_index=True)


def without(rows: pd.DataFrame, leave_out: Sequence[str]) -> pd.DataFrame:
    """Rows of all families but these."""
    return rows[~rows["family"].isin(leave_out)]


def chosen(leave_out: Sequence[str] = ()) -> Chosen:
    """Everything but the families that are left out.

    Raises:
        ParameterError: a family is not known, or too few families are left to compare.
    """
    results, stacks = released_results(), recorded_weights().stacks
    compared = results[results["counted"] & (results["modality"] == "text")]
    known = sorted({*compared["family"], *stacks["family"]})
    if unknown := [family for family in leave_out if family not in known]:
        raise ParameterError(f"There is no family {unknown[0]!r} to leave out; the families are {', '.join(known)}.")
    left = Chosen(without(results, leave_out), without(stacks, leave_out))
    read = left.stacks.assign(part=left.stacks["attention"].map(PARTS))
    compared_groups = {
        "released language models": (left.released, FEWEST),
        "models whose weights we read": (read, FEWEST),
        "language models whose weights we read": (read[read["modality"] == "text"], 1),
        "released encoder-decoder models": (left.halves, 1),
    }
    for words, (models, fewest) in compared_groups.items():
        for part in PARTS.values():
            if models[models["part"] == part]["family"].nunique() < fewest:
                few = f"fewer than {fewest} families" if fewest > 1 else "no family"
                raise ParameterError(
                    f"Without {', '.join(leave_out)}, the {words} have {few} of {part}s; leave out fewer families."
                )
    return left
