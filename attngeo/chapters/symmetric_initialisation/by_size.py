"""What a start is worth to encoders of other depths and widths, as planned; and at the size of the recorded matrix."""

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attngeo.chapters.symmetric_initialisation.control_matrix import BASELINE, PAIRS, ControlMatrix
from attngeo.chapters.symmetric_initialisation.figures import COLOURS
from attngeo.chapters.symmetric_initialisation.planned_runs import Planned
from attngeo.chapters.symmetric_initialisation.recipe import scale_factor
from attngeo.display.captions import captioned
from attngeo.display.style import NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.paper.seed_intervals import Size
from attngeo.runs.arms import RECORDING, Contrast
from attngeo.runs.estimates import Estimate, difference_of_means
from attngeo.runs.numbers_in_words import as_nats, with_interval

TIE, SCALE, TIE_AT_RELEASED_SCALE = (
    ("symmetric", BASELINE),
    ("default-linear", BASELINE),
    ("released", "default-linear"),
)
COMPARED = {TIE: "o", SCALE: "s", TIE_AT_RELEASED_SCALE: "D"}
ISOLATES = {(p.start, p.against): p.isolates for p in PAIRS}
_OF_A_SIZE = ("layers", "d_model", "d_ff", "heads")
_BESIDE = 0.16  # of two marks at one size


@dataclass(frozen=True)
class Worth:
    """Final loss of one start less that of another, in models of one size."""

    size: Size
    pair: tuple[str, str]  # start, against
    contrast: Contrast
    as_planned: bool  # or from the runs of the recorded matrix, whose settings were chosen after looks

    @property
    def difference(self) -> Estimate:
        """Mean over seeds."""
        return self.contrast.difference()


def by_size(found: Iterable[Planned], matrix: Iterable[ControlMatrix]) -> list[Worth]:
    """Of planned experiments that share all settings but the size; what they lack, from the matrix, if it shares them.

    Args:
        found: experiments of one primary contrast, of which `planned_sizes` are taken.
        matrix: recorded runs that are equal in everything but start and seed.
    """
    sizes = planned_sizes(found)
    worth: dict[tuple, Worth] = {}
    for size, planned in sizes.items():
        contrasts = {(c.arm, c.against): contrast for c, contrast in planned.contrasts.items()}
        worth |= _worth(size, contrasts, as_planned=True)
    setting = next((_setting(p.config) for p in sizes.values()), None)
    for experiment in matrix:
        if _setting(experiment.config) == setting:
            contrasts = {(p.start, p.against): contrast for p, contrast in experiment.contrasts().items()}
            worth = _worth(Size.of(experiment.config), contrasts, as_planned=False) | worth
    return [worth[key] for key in sorted(worth)]


def planned_sizes(found: Iterable[Planned]) -> dict[Size, Planned]:
    """By size, those of the setting that was planned at most sizes: they differ in nothing else."""
    groups: dict[tuple, dict[Size, Planned]] = {}
    for planned in found:
        groups.setdefault(_setting(planned.config), {})[Size.of(planned.config)] = planned
    return max(groups.values(), key=len, default={})


def along(worth: Sequence[Worth], axis: str) -> list[Worth]:
    """Those that differ in ``"layers"`` or in ``"width"`` alone, at the value of the other that most of them share."""
    other = next(name for name in Size._fields if name != axis)
    shared = Counter(getattr(size, other) for size in {w.size for w in worth})
    most = max(shared, key=lambda value: shared[value], default=None)
    return [w for w in worth if getattr(w.size, other) == most]


@dataclass(frozen=True)
class Ends:
    """A planned comparison in the smallest and in the largest models along one axis."""

    small: Worth
    large: Worth

    @property
    def change(self) -> Estimate:
        """Difference in the largest models less that in the smallest."""
        return difference_of_means(self.large.contrast.differences(), self.small.contrast.differences())

    @property
    def appears(self) -> bool:
        """Whether it is below zero in the largest models and not in the smallest, as planned of the tie and depth."""
        return self.large.difference.high < 0 <= self.small.difference.high

    @property
    def shrinks(self) -> bool:
        """Whether it is nearer zero in the largest models, as planned of scale and width, with intervals apart."""
        small, large = self.small.difference, self.large.difference
        return abs(large.value) < abs(small.value) and (small.high < large.low or large.high < small.low)


def ends(worth: Iterable[Worth], axis: str, pair: tuple[str, str], asked: Set[Size]) -> Ends | None:
    """Along ``"layers"`` or ``"width"``; none until every size ``asked`` for is recorded as planned."""
    own = [w for w in worth if w.pair == pair and w.as_planned]
    here = along(own, axis)
    return Ends(here[0], here[-1]) if len(here) > 1 and asked <= {w.size for w in own} else None


def beyond_noise(worth: Iterable[Worth], pair: tuple[str, str]) -> str:
    """Of the planned sizes those where the pair's interval leaves out zero: ``1 of 4 sizes (4 layers of ...: ...)``."""
    own = [w for w in worth if w.pair == pair and w.as_planned and w.difference.has_interval]
    found = [w for w in own if not w.difference.low <= 0 <= w.difference.high]
    told = "; ".join(f"{w.size}: {with_interval(w.difference, as_nats)}" for w in found)
    return f"{len(found) or 'none'} of {len(own)} sizes{f' ({told})' if told else ''}"


def _setting(config: dict) -> tuple:
    return tuple(sorted((k, str(v)) for k, v in config.items() if k not in ("init", "seed", *RECORDING, *_OF_A_SIZE)))


def _worth(size: Size, contrasts: dict[tuple[str, str], Contrast], as_planned: bool) -> dict[tuple, Worth]:
    return {(size, pair): Worth(size, pair, c, as_planned) for pair, c in contrasts.items() if pair in COMPARED}


@house_style()
def size_figure(worth: Sequence[Worth]) -> CaptionedFigure:
    """Two panels, depth at one width and width at one depth: the difference of each pair with its interval."""
    figure, panels = new_figure(8.2, 3.6, columns=2)
    shown = [along(worth, axis) for axis in Size._fields]
    for panel, axis, here in zip(panels, Size._fields, shown, strict=True):
        sizes = sorted({w.size for w in here})
        panel.axhline(0, color=NEUTRAL, linewidth=1)
        for w in here:
            _mark(panel, sizes.index(w.size), w)
        panel.set_xlim(-0.5, len(sizes) - 0.5)
        panel.set_xticks(range(len(sizes)), [_tick(size, axis) for size in sizes])
    panels[0].set(xlabel=f"layers, of width {shown[0][0].size.width}", ylabel="difference of final losses (nats)")
    panels[1].set_xlabel(f"width, of {shown[1][0].size.layers} layers (below it: × scale)")
    figure.legend(handles=_handles(), loc="outside lower center", ncols=3)
    extremes = [min(worth, key=lambda w: w.difference.value), max(worth, key=lambda w: w.difference.value)]
    return captioned(
        figure,
        __package__,
        "fig-init-size",
        seeds=" or ".join(map(str, sorted({len(w.contrast) for w in worth}))),
        open_marks="" if all(w.as_planned for w in worth) else "<<unplanned>>",
        n=len({w.size for w in worth}),
        pairs=len(COMPARED),
        told=[f"{as_nats(w.difference.value)} ({' less '.join(w.pair)}, {w.size})" for w in extremes],
    )


def _mark(panel: Axes, x: int, worth: Worth) -> None:
    pairs = list(COMPARED)
    x_here = x + _BESIDE * (pairs.index(worth.pair) - (len(pairs) - 1) / 2)
    colour, estimate = COLOURS[worth.pair[0]], worth.difference
    if estimate.has_interval:
        panel.vlines(x_here, estimate.low, estimate.high, color=colour, linewidth=2)
    face = colour if worth.as_planned else "white"
    panel.plot(x_here, estimate.value, COMPARED[worth.pair], color=colour, markerfacecolor=face)


def _tick(size: Size, axis: str) -> str:
    return f"{size.layers}" if axis == "layers" else f"{size.width}\n× {scale_factor(size.width):.1f}"


def _handles() -> list[Line2D]:
    return [
        Line2D(
            [], [], color=COLOURS[pair[0]], marker=mark, linestyle="", label=f"{' less '.join(pair)}:\n{ISOLATES[pair]}"
        )
        for pair, mark in COMPARED.items()
    ]
