"""Tables that lie in a checkout."""

import pandas as pd

from attngeo.files.checkout import CheckoutError, data


def read_table(name: str, columns: dict[str, type | str]) -> pd.DataFrame:
    """A CSV file under ``data/`` with just these columns, of these types; text that is missing is empty.

    Raises:
        CheckoutError: it is missing or damaged.
    """
    path = data(name)
    blanks = {name: [""] for name, kind in columns.items() if kind is not str}
    try:
        frame = pd.read_csv(path, dtype=columns, keep_default_na=False, na_values=blanks)
    except FileNotFoundError as error:
        raise CheckoutError(f"{path} is missing; restore it from the repository.") from error
    except (OSError, ValueError) as error:
        raise CheckoutError(f"{path} cannot be read ({error}); restore it from the repository.") from error
    if list(frame.columns) != list(columns):
        raise CheckoutError(f"{path} has the columns {', '.join(frame.columns)}; restore it from the repository.")
    return frame
