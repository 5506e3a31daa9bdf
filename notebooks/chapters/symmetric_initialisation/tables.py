"""Tables of planned and exploratory comparisons of starts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from chapters.symmetric_initialisation.speed_ups import WINDOW, seeds_needed, speed_up_of
from chapters.symmetric_initialisation.starts import (
    AGAINST_RANDOM,
    BAND,
    BASELINE,
    PAIRS,
    STARTS,
    Setting,
    between_random_starts,
)
from attngeo.experiments.runs.arms import LOSS, Contrast
from attngeo.experiments.runs.estimates import HELPS, HURTS
from attngeo.experiments.runs.numbers_in_words import as_millions, as_nats, as_percent, as_rate, extent, with_interval

ISOLATES = {(pair.arm, pair.against): pair.isolates for pair in PAIRS}
TIE = {HELPS: "equal queries and keys help", HURTS: "equal queries and keys are harmful"}


def speed_ups_table(compared: Iterable[Setting], window: int = WINDOW) -> pd.DataFrame:
    """Steps saved for good by every start compared with a random start, and the number of seeds; a column per setting.

    The first row has the range for two random starts that differ in their seeds (`between_random_starts`).
    """
    columns = {}
    for setting in compared:
        columns[setting.label] = {BASELINE: f"({extent(between_random_starts(setting, window)[0], as_percent)})"} | {
            pair.arm: f"{with_interval(speed_up_of(contrast, window), as_percent)}; {len(contrast)} seeds"
            for pair, contrast in setting.contrasts(AGAINST_RANDOM).items()
        }
    return pd.DataFrame(columns).fillna("–").rename_axis("initialisation")


def rates_table(family: Sequence[Setting]) -> pd.DataFrame:
    """Final loss of each start and number of seeds in `starts.by_learning_rate`, a row per start, the lowest rate first."""
    rows = []
    for start in (s for s in STARTS if any(s in setting.arms for setting in family)):
        tried = {as_rate(s.config["lr"]): s.arms[start] for s in family if start in s.arms}
        losses = "; ".join(f"{rate}: {arm.mean(LOSS):.3f} ({len(arm)})" for rate, arm in tried.items())
        rows.append({"setting": family[0].short, "initialisation": start, "loss by rate": losses})
    return pd.DataFrame(rows)


def planned_rows(plans: Iterable[Setting]) -> Iterator[dict]:
    """A row per complete planned comparison, the primary comparison of each plan first, with both measures."""
    for setting in plans:
        for pair, contrast in setting.contrasts().items():
            primary = pair is setting.pairs[0]
            yield {
                "primary": primary,
                "setting": setting.short,
                "pair": pair.name,
                "seeds": len(contrast),
                "difference of final losses (nats)": with_interval(contrast.difference(), as_nats),
                "steps saved": with_interval(speed_up_of(contrast), as_percent),
                "by the plan": setting.said if primary else "",
                "p": f"{setting.p:.3f}" if primary else "",
                f"seeds for ±{BAND}": seeds_needed(contrast.differences().std(), BAND),
                "what it isolates": ISOLATES.get((pair.arm, pair.against), pair.isolates),
            }


def tie_table(contrasts: Mapping[str, Contrast], plans: Mapping[str, Setting]) -> pd.DataFrame:
    """A row per planned shape: what equal queries and keys do to the final loss at the released scale."""
    rows = []
    for plan, contrast in contrasts.items():
        row = {"shape": plans[plan].shape, "tokens": as_millions(plans[plan].training.tokens), "seeds": len(contrast)}
        row["difference of losses"] = with_interval(contrast.difference(), as_nats)
        row["outcome"] = TIE.get(contrast.outcome(), "the interval includes zero")
        rows.append(row)
    return pd.DataFrame(rows)
