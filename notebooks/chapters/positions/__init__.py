"""The chapter *Positions* (``notebooks/positions.py``): planned runs judged, splits by position space.

Each plan is a ``data/runs/EXPERIMENT/experiment.yml``. Its measure of a run is s of the layer, summed over heads, after
the last step, median over layers (`Run.last`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import pandas as pd
import seaborn as sns

from livingpaper.claims.results import Verdict
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS, PARTS, Arm, Contrast, all_arms
from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.experiments.runs.experiments import Experiment, read_experiment
from attngeo.experiments.runs.numbers_in_words import as_score, number, with_interval
from attngeo.experiments.runs.plateaus import PLATEAU as PLATEAU
from attngeo.experiments.runs.plateaus import PLATEAU_OF_CHARACTERS as PLATEAU_OF_CHARACTERS
from attngeo.experiments.survey.families import distinct
from attngeo.experiments.runs.measures import median_of_heads

FIRST = "positions_characters"
AGAIN = (f"{FIRST}_new_seeds", f"{FIRST}_third")  # ask what FIRST found
TITLES = {FIRST: "characters", AGAIN[0]: "characters, new seeds", AGAIN[1]: "characters, third plan"}
TITLES |= {"positions_pieces": "subword tokens, short", "positions_pieces_longer": "subword tokens"}
TITLES |= {"positions_mini": "characters, width 256"}
CHARACTERS = (FIRST, *AGAIN)  # experiments that differ in their seeds alone
# The commits that held these plans were lost, so that plan and runs enter the history together.
UNDATED = (FIRST, AGAIN[0], "positions_pieces", "positions_values")
EARLIER = {"positions_mini": (430, 431, 432)}  # seeds of the plan before it was amended (commit 52b52ad2)
ARMS = ("mlm-learned", "mlm-rotary", "clm-learned", "clm-rotary")
KINDS = {"learned": "learned", "rotary": "rotary", "bias": "bias", "none": "none"}  # of positions, as figures name them
S = "symmetry"
MAIN = "90 %"  # the share of a table's variance in its position space, in the variant that pages show
ENOUGH = 0.2  # above which the interval of the first measure is to lie


class Outcome(Enum):
    """What a plan lets its runs say, in the words of the plans; `verdict` is the label of the book for it."""

    HOLDS = "the lead holds"
    IN_PART = "in part"
    FALLS = "the lead falls"
    UNDECIDED = "undecided"

    @property
    def verdict(self) -> Verdict:
        """What follows for the statement that the plan tests."""
        verdicts = {
            Outcome.HOLDS: Verdict.HOLDS,
            Outcome.IN_PART: Verdict.SHORT,
            Outcome.FALLS: Verdict.CHANGES,
            Outcome.UNDECIDED: Verdict.UNDECIDED,
        }
        return verdicts[self]


@dataclass(frozen=True, eq=False)
class Judged:
    """An experiment on a table against rotary positions."""

    plan: Experiment
    arms: Mapping[str, Arm]  # by name
    split: pd.DataFrame  # by run and layer, of encoders and decoders with a table

    @cached_property
    def first(self) -> Estimate:
        """s with a table minus s with rotary positions, in encoders, seed by seed."""
        return Contrast(self.arms["mlm-learned"], self.arms["mlm-rotary"]).difference(S)

    @cached_property
    def interaction(self) -> Estimate:
        """Encoder minus decoder with a table minus encoder minus decoder with rotary positions, seed by seed."""
        pairs = (Contrast(self.arms[f"mlm-{kind}"], self.arms[f"clm-{kind}"]) for kind in ("learned", "rotary"))
        table, rotary = (pair.differences(S) for pair in pairs)
        return over_seeds(table - rotary)

    @cached_property
    def outcome(self) -> Outcome:
        """By the plan; undecided if every encoder with a table is on a plateau."""
        plateau = PLATEAU.get(self.plan.name, PLATEAU_OF_CHARACTERS)
        if self.arms["mlm-learned"].values(LOSS).min() > plateau:
            return Outcome.UNDECIDED
        if self.first.low > ENOUGH and self.interaction.low > 0:
            return Outcome.HOLDS
        return Outcome.IN_PART if self.first.low > 0 else Outcome.FALLS

    def of(self, seeds: Iterable[int]) -> "Judged":
        """The same experiment with some of its seeds."""
        seeds = tuple(seeds)
        return Judged(self.plan, {name: arm.of(seeds) for name, arm in self.arms.items()}, self.split)

    def of_first(self, n: int) -> "Judged":
        """The same experiment with no more than the first n seeds of its plan."""
        return self.of(self.arms[ARMS[0]].seeds[:n])

    @property
    def by_plan(self) -> str:
        """The outcome in the words of its plan; those that ask a finding again have two."""
        if self.plan.name in AGAIN:
            return "found again" if self.outcome is Outcome.HOLDS else "not found again"
        return self.outcome.value

    @cached_property
    def outside(self) -> tuple[float, float]:
        """Encoders with a table: s outside position space and s of the layer, medians over layers, means over seeds."""
        rows = self.of_arm("mlm-learned")
        return float(rows["outside"].mean()), float(rows[S].mean())

    def of_arm(self, arm: str) -> pd.DataFrame:
        """Medians over layers of an arm's split, a row per run."""
        return self.split[self.split["run"].str.startswith(f"{arm}-")].groupby("run").median()


def recorded(experiment: str = FIRST) -> Judged:
    """What is recorded of an experiment in ``data/runs``.

    Raises:
        RunError: as of `all_arms`.
    """
    plan = read_experiment(data("runs", experiment))
    return Judged(plan, all_arms(plan), pd.read_csv(plan.folder / "positions.csv"))


def all_recorded() -> dict[str, Judged]:
    """Every experiment on a table against rotary positions, by its title."""
    return {title: recorded(name) for name, title in TITLES.items()}


def encoder_means(judgement: Judged) -> tuple[float, float]:
    """Mean s of encoders with learned and with rotary positions."""
    return judgement.arms["mlm-learned"].mean(S), judgement.arms["mlm-rotary"].mean(S)


def plan_table(experiments: Mapping[str, Judged]) -> pd.DataFrame:
    """Both measures that decide, with their intervals: a row per experiment."""
    return pd.DataFrame(
        {
            "runs": title,
            "seeds": len(judgement.arms[ARMS[0]]),
            "encoders, learned minus rotary": with_interval(judgement.first, as_score),
            "this difference minus that of decoders": with_interval(judgement.interaction, as_score),
            "by the plan": judgement.by_plan,
        }
        for title, judgement in experiments.items()
    )


def second_measures(judgement: Judged) -> pd.DataFrame:
    """A row per arm, means over its seeds of medians over layers; the split where there is a table."""
    rows = []
    for name, arm in judgement.arms.items():
        measures = {"s": S, "s of heads": median_of_heads(S), "d": "directionality", "held-out loss": LOSS}
        row = _of(arm) | {words: arm.mean(measure) for words, measure in measures.items()}
        if arm.config["positions"] == "learned":
            split = judgement.of_arm(name)
            row |= {c: split[c.replace("s ", "")].mean() for c in ("share", "s inside", "s outside")}
        rows.append(row)
    rows.sort(key=lambda row: list(KINDS.values()).index(row["positions"]))
    return pd.DataFrame(rows).sort_values("model", ascending=False, kind="stable")


def _of(arm: Arm) -> dict[str, str]:
    return {"model": PARTS[arm.config["objective"]], "positions": KINDS[arm.config["positions"]]}


@house_style()
def symmetry_by_arm(experiments: Mapping[str, Judged], made: str) -> CaptionedFigure:
    """s after the last step: a point per seed, encoders beside decoders, a column per kind of positions.

    Args:
        experiments: a panel for each of the six. The models of one of them did not learn.
        made: what the caption says of how the runs were made.
    """
    parts = {part: PART_COLOURS[part] for part in ("encoder", "decoder")}
    figure, panels = new_figure(6.4, 4.8, 2, 3, sharey=True)
    for panel, (title, judgement) in zip(panels.flat, experiments.items(), strict=True):
        arms = judgement.arms.values()
        rows = pd.concat(pd.DataFrame({"s": arm.values(S)}).assign(**_of(arm)) for arm in arms)
        here = [kind for kind in KINDS.values() if kind in set(rows["positions"])]
        style = {"x": "positions", "y": "s", "hue": "model", "order": here, "hue_order": list(parts), "ax": panel}
        sns.stripplot(rows, palette=parts, dodge=True, size=4, alpha=0.6, legend=panel is panels.flat[0], **style)
        style |= {"palette": ["black", "black"], "dodge": 0.4, "linestyle": "none", "legend": False}
        sns.pointplot(rows, marker="_", markersize=9, err_kws={"linewidth": 1.5}, errorbar=_ends, **style)
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
        panel.set(xlabel="positional encoding", ylabel="symmetry $s$", title=title)
        panel.tick_params(axis="x", labelsize="small")  # four names in one panel
        if judgement.outcome is Outcome.UNDECIDED:
            panel.set_title(f"{title}\n(inconclusive)")
    panels.flat[0].legend(title=None)
    (inconclusive,) = [title for title, judgement in experiments.items() if judgement.outcome is Outcome.UNDECIDED]
    means = {title: [number(s, 2) for s in encoder_means(judgement)] for title, judgement in experiments.items()}
    first, (learned, rotary) = next(iter(means.items()))
    caption = (
        "Symmetry of $W_{qk}$ after training, by type of positional encoding. Each point shows one seed, and bars"
        " show means with 95 % confidence intervals from Student's $t$ distribution. The experiment in the panel"
        f" *{inconclusive}* is inconclusive, because the encoders with learned position embeddings did not learn. The"
        f" mean scores of encoders are as follows: *{first}*: {learned} with learned position embeddings and {rotary}"
        f" with rotary positions. {made}"
    )
    listed = "; ".join(f"{title}, {learned} and {rotary}" for title, (learned, rotary) in means.items())
    alt = f"Strip plots of symmetry. Mean scores of encoders with learned and with rotary positions: {listed}."
    return CaptionedFigure(figure, "fig-positions-arms", caption, alt)


def _ends(values: pd.Series) -> tuple[float, float]:
    estimate = over_seeds(values)
    return estimate.low, estimate.high


def of_models() -> pd.DataFrame:
    """The rows that `chapters.positions.split` recorded of pretrained models; layers count from 0."""
    return pd.read_csv(data("positions", "layers.csv"))


def splits() -> pd.DataFrame:
    """Trained models' layers split by position space (``data/positions/layers.csv``), weights that occur twice once."""
    rows = distinct(of_models())
    return rows[rows["variant"] == MAIN]


def splits_table(rows: pd.DataFrame) -> pd.DataFrame:
    """A row per model: layers, dimension of position space, and medians over layers of shares and scores."""
    models = rows.groupby(["model", "part"], sort=False)
    columns = {"share": "share", "share_at_random": "by chance", "inside": "s inside", "outside": "s outside", S: "s"}
    medians = models[list(columns)].median().rename(columns=columns)
    for share in ("share", "by chance"):
        medians[share] = medians[share].map(lambda x: f"{100 * x:.2g}\u00a0%")
    about = models[["dimension", "d_model"]].first()
    space = [f"{k} of {d}" for k, d in zip(about["dimension"], about["d_model"], strict=True)]
    medians.insert(0, "position space", space)
    medians.insert(0, "layers", models.size())
    return medians.reset_index().sort_values("s outside").reset_index(drop=True)
