"""Table 1, the web page's table, and the sentences about them, against the released loss curves (second-hand)."""

from collections.abc import Iterator
from typing import NamedTuple

import pandas as pd

from attngeo.chapters.symmetric_initialisation import published_speed_ups
from attngeo.paper import published
from attngeo.paper.checks import Comparison, Judgement, check, compare, exact

HALF_UNIT_LOSS = 0.0005 + 1e-9  # of the third decimal
HALF_UNIT_PERCENT = 0.5
HALF_TEN = 5.0
TENTH = 0.05  # half a unit of the recomputed percentages
KEYS = ["layers", "dataset"]


class Printed(NamedTuple):
    """What is printed of speed-ups, and the released curves."""

    table: pd.DataFrame  # as `attngeo.paper.published.printed_table` gives it
    curves: pd.DataFrame  # as `published_speed_ups.released_curves` gives them
    in_text: pd.DataFrame  # as `published_speed_ups.speed_ups_in_text` gives them

    @property
    def pairs(self) -> pd.DataFrame:
        """Rows of the table, random and symmetric side by side, with the released encoder curves of the same runs."""
        base, symmetric = (self.table[self.table["symmetric_init"] == tied] for tied in (False, True))
        pairs = base[[*KEYS, "loss"]].merge(symmetric[[*KEYS, "loss", "speed_up_percent"]], on=KEYS)
        pairs = pairs.rename(columns={"loss_x": "printed_base", "loss_y": "printed_symmetric"})
        return pairs.merge(self.curves[self.curves["part"] == "encoder"], on=KEYS)

    @property
    def largest(self) -> pd.Series:
        """The largest speed-up in the table (%), by layers."""
        return self.table.groupby("layers")["speed_up_percent"].max()

    def stated(self, source: str) -> pd.Series:
        """Speed-ups that the text of a source states (%), by layers."""
        return self.in_text[self.in_text["source"] == source].set_index("layers")["speed_up_percent"]


def printed(number: str = "1") -> Printed:
    """A printed table, ``"1"`` or ``"web"``, beside what was released and what is said of it."""
    return Printed(
        published.printed_table(number), published_speed_ups.released_curves(), published_speed_ups.speed_ups_in_text()
    )


def gains_for_good(curves: pd.DataFrame, layers: int) -> pd.DataFrame:
    """From where on the released losses stay below, as a share of the run (%): encoder and decoder, by text."""
    found = curves[curves["layers"] == layers].pivot(index="dataset", columns="part", values="persistent_percent")
    return found.fillna(0.0)  # a curve that never stays below gains nothing


@check(printed)
def table_1_follows_from_the_released_curves(p: Printed) -> Judgement:
    """Losses and speed-ups of Table 1, to their printed decimals."""
    return Judgement(*_rows(p))


@check(printed)
def table_1_counts_the_first_touch(p: Printed) -> Judgement:
    """The speed-ups count the first recorded loss at or below the end, which the baseline itself undercuts early."""
    pairs = p.pairs
    earliest = pairs.loc[pairs["baseline_itself_percent"].idxmax()]
    early = earliest["baseline_itself_percent"]
    crossing = pairs.dropna(subset=["first_crossing_percent"])
    for_good = ", ".join(
        f"{_name(r)} {'never' if pd.isna(r.persistent_percent) else f'{r.persistent_percent:.0f} %'}"
        for r in pairs.itertuples()
    )
    return Judgement(
        *(
            compare("touch", r.first_crossing_percent - r.persistent_percent, ">", 0, TENTH, row=_name(r))
            for r in crossing.itertuples()
        ),
        compare("itself", early, ">", 0, TENTH, row=_name(earliest)),
        early=early,
        earliest=_name(earliest),
        for_good=for_good,
    )


@check(printed)
def decoders_in_the_released_curves(p: Printed) -> Judgement:
    """Four-layer decoders, not reported, gain for good as well; at 12 layers less than the encoders that gain."""
    decoders = p.curves[p.curves["part"] == "decoder"].set_index(KEYS)
    small, large = (gains_for_good(p.curves, layers) for layers in (4, 12))
    large = large[large["encoder"] > 0]  # where encoders gain
    first = decoders.loc[4]["first_crossing_percent"]
    return Judgement(
        *(compare("small", gain, ">", 0, TENTH, text=text) for text, gain in small["decoder"].items()),
        *(
            compare("large", gain, ">", 0, TENTH, text=text)
            for text, gain in (large["encoder"] - large["decoder"]).items()
        ),
        gains=", ".join(f"{x:.0f} % on {text}" for text, x in first.items()),
        larger=", ".join(
            f"{x:.0f} % on {text}" for text, x in decoders.loc[12]["first_crossing_percent"].dropna().items()
        ),
        beside=", ".join(f"{r.decoder:.0f} % against {r.encoder:.0f} % on {text}" for text, r in large.iterrows()),
    )


@check(printed)
def most_of_the_models(p: Printed) -> Judgement:
    """In Table 1 most symmetric starts end lower than the random ones."""
    lower = p.pairs["printed_symmetric"] < p.pairs["printed_base"]
    return Judgement(compare("lower", lower.sum(), ">", len(lower) / 2), n=len(lower))


@check(printed)
def sentences_of_section_4_2(p: Printed) -> Judgement:
    """The largest speed-up of Table 1 for four layers is less than the text says; for twelve it is what it says."""
    said, largest = p.stated("paper"), p.largest
    return Judgement(
        compare("layers", said[4], "≠", largest[4], HALF_UNIT_PERCENT, layers=4),
        exact("layers", said[12], largest[12], layers=12),
        small=said[4],
        large=said[12],
        small_in_table=largest[4],
        large_in_table=largest[12],
    )


@check(printed, number="web")
def sentences_of_the_web_page(p: Printed) -> Judgement:
    """Of three speed-ups in the web page's sentence, its own table has the middle one."""
    web, largest = p.stated("web page"), p.largest
    said, summary = web[web.index.notna()], web[web.index.isna()].item()
    relations = {4: "≠", 12: "=", 24: "≠"}
    return Judgement(
        *(
            compare("layers", said[n], relation, largest[n], HALF_UNIT_PERCENT, layers=n)
            for n, relation in relations.items()
        ),
        exact("summary", summary, largest.max(), HALF_TEN),
        four=said[4],
        twelve=said[12],
        twenty_four=said[24],
        in_table=", ".join(f"{largest[n]:.0f} % for {n} layers" for n in relations),
    )


@check(printed, number="web")
def web_table_repeats_table_1(p: Printed) -> Judgement:
    """The rows for 4 and 12 layers are those of Table 1 and of the released curves; of 24 layers there is no curve."""
    web = p.table.query("layers == 24").set_index("symmetric_init")
    unchecked = f"{web.loc[False, 'loss']:.3f}, {web.loc[True, 'loss']:.3f}, {web.loc[True, 'speed_up_percent']:.0f} %"
    return Judgement(*_rows(p), exact("unread", (p.curves["layers"] == 24).sum()), unchecked=unchecked)


def _rows(p: Printed) -> Iterator[Comparison]:
    """Losses and speed-up of every row."""
    for r in p.pairs.itertuples():
        row = _name(r)
        yield exact("random", r.loss_base, r.printed_base, HALF_UNIT_LOSS, row=row)
        yield exact("symmetric", r.loss_symmetric, r.printed_symmetric, HALF_UNIT_LOSS, row=row)
        if r.speed_up_percent > 0:
            yield exact("speed-up", r.first_crossing_percent, r.speed_up_percent, HALF_UNIT_PERCENT, row=row)
        else:  # no crossing: the symmetric run ends above the other
            yield compare("cost", r.loss_symmetric - r.loss_base, ">", row=row)


def _name(row) -> str:
    return f"{row.layers} layers, {row.dataset}"
