"""Released results beside our scores of the same weights, and of weights that were trained on from them."""

import math

import pandas as pd

from attngeo.survey.released_results import released_results

# of the released d; of Figures S1 (audio) and S2 no checkpoint was read that could tell
FORMULAS = {"2": "directionality_tables", "S1 vision": "directionality_released"}


def same_models(stacks: pd.DataFrame) -> pd.DataFrame:
    """Every stack (`with_kinds`) that was read here and stands, or whose base stands, among the released results.

    Returns:
        Columns model, part, released (the name of the result's model), same (whether it is this model and not its
        base), objective, precision, place (row or figure), s, s_released, d, d_released; d by the formula of the
        released number, NaN where that is not known.
    """
    results = released_results()
    results = results[results["counted"] | (results["defects"] == "fine-tuned")]
    rows = []
    for stack in stacks.to_dict("records"):
        name = stack["base"] or stack["model"]
        found = results[(results["model"] == name) & (results["part"] == stack["part"])]
        if found.empty:
            continue
        result = found.iloc[0]
        rows.append(
            {column: stack[column] for column in ("model", "part", "objective", "precision")}
            | {"released": name, "same": name == stack["model"]}
            | {"place": f"Tables S2, S3: {result['row']}" if result["row"] else f"Figure {result['figure']}"}
            | {"s": stack["symmetry"], "s_released": result["s"]}
            | {"d": stack.get(FORMULAS.get(result["figure"]), math.nan), "d_released": result["d"]}
        )
    return pd.DataFrame(rows)
