"""The models of the survey: what each is, what the paper prints for it, where its weights may lie."""

import pandas as pd

from attngeo.checkout import data
from attngeo.errors import AttngeoError


class RegistryError(AttngeoError):
    """``data/models.csv`` is missing or damaged."""


def registry() -> pd.DataFrame:
    """The models of the survey: ``data/models.csv``, one row per model and part.

    Columns name, hub_id, modality, family, objective, attention, part, printed_as (names in Tables S2 and
    S3, separated by ``;``), weights_folder, licence, note; all text.

    Raises:
        RegistryError: the file cannot be read.
    """
    path = data("models.csv")
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise RegistryError(f"{path} cannot be read ({error}); restore it from the repository.") from None
