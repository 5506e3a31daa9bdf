# ---
# jupyter:
#   attngeo:
#     reads: [data/runs, data/published]
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Symmetric initialisation
#
# Does an encoder learn faster *because* its query-key matrix $W_{qk}$ is symmetric when training starts? The paper says so
# (Section 4.2): Table 1 of the paper prints that with $W_k = W_q$ an encoder reaches the final loss of a random start in
# up to {glue:text}`largest-speed-up` % fewer steps. Its released code, however, by an audit of it (not read here), changes
# more between the two starts than their symmetry.
#
# What of an encoder with keys tied to queries, and nothing else changed, set against one with a random start? In
# {glue:text}`n-encoder-plans` comparisons planned before they were made, it {glue:text}`planned-outcomes`.
# {glue:text}`much-faster` {glue:text}`again` {glue:text}`without-tie` Whether symmetry does it, or that each token leans
# towards itself where keys are tied, these comparisons do not tell: none has a symmetric start without that. The comparison
# with most seeds ({glue:text}`first-seeds`; {glue:text}`first-setting`) finds the final loss changed by
# {glue:text}`planned-first` nats (p = {glue:text}`first-p`; by that bound {glue:text}`first-among`).
#
# Earlier runs, whose settings were chosen after looks, take the released start apart: {glue:text}`so` About models that
# read as much as the paper's none of this decides anything.

# %% tags=["parameters"]
window: int = 5  # measurements of the held-out loss in a mean; in [1, 50]
fine: float = 0.01  # nats, half-width of an interval that would be fine enough; in [0.0001, 1]
d: int = 64  # width of the forms in the checks of the recipe; in [8, 512]
seed: int = 0  # seed of the checks of the recipe; in [0, 2147483647]

# %% tags=["remove-cell"]
import pandas as pd

from attngeo.paper.seed_intervals import Size, Training, all_met
from attngeo.chapters.symmetric_initialisation import printed_speed_ups, recipe, recorded_runs
from attngeo.chapters.symmetric_initialisation.by_size import (
    SCALE,
    TIE,
    TIE_AT_RELEASED_SCALE,
    beyond_noise,
    by_size,
    ends,
    planned_sizes,
    size_figure,
)
from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AT_EQUAL_SCALE,
    PAIRS,
    between_random_starts,
    experiments,
    main_experiments,
)
from attngeo.chapters.symmetric_initialisation.crossings import grid_of, speed_up_of
from attngeo.chapters.symmetric_initialisation.gain import made_of
from attngeo.chapters.symmetric_initialisation.numbers_of_seeds import seeds_needed
from attngeo.chapters.symmetric_initialisation.planned_figure import planned_figure
from attngeo.chapters.symmetric_initialisation.planned_runs import (
    BAND,
    SHARE,
    about_symmetry,
    first_asked,
    named,
    planned,
    planned_table,
    spread,
    symmetry_as_planned,
)
from attngeo.chapters.symmetric_initialisation.planned_words import (
    all_differences,
    among,
    asked_again,
    asked_again_shortly,
    by_chance,
    final_losses,
    in_how_many,
    lower_by_chance,
    much_faster,
    shown,
    told,
)
from attngeo.chapters.symmetric_initialisation.roulette import roulette
from attngeo.chapters.symmetric_initialisation.tables import tally
from attngeo.display.page import glue, show, table
from attngeo.paper.published import printed_table, trained_widths
from attngeo.records.checkout import data
from attngeo.runs.estimates import LEAST_SEEDS, LEVEL
from attngeo.runs.experiments import Status, read_experiments
from attngeo.runs.numbers_in_words import as_nats, as_percent, extent, with_interval
from attngeo.training.config import DEFAULTS

# %% tags=["remove-cell"]
runs = recorded_runs.recorded()
recorded = experiments(runs)
main = main_experiments(recorded)
encoders = [e for e in main if e.part == "encoder"]
decoders = [e for e in main if e.part != "encoder"]
by_pair = {(p.start, p.against): p for p in PAIRS}
complete = planned()
symmetry = about_symmetry(complete)
recorded_size = {Size.of(e.config) for e in main}
judged = sorted(
    (p for p in symmetry if Size.of(p.config) in recorded_size), key=lambda p: (not p.encoder, -len(p.contrast))
)
plans = [e for e in read_experiments(data("runs")) if e.status is Status.CONFIRMATORY]
worth, at_size = by_size(symmetry, recorded), planned_sizes(symmetry)
temperature = named(complete, "confirm_temperature")
glue("logits-alone", told("logits alone", temperature))

of_encoders = [p for p in first_asked(symmetry) if p.encoder]
first = max(of_encoders, key=lambda p: len(p.contrast), default=None)
glue("n-encoder-plans", len(of_encoders), "d")
glue("planned-outcomes", in_how_many(of_encoders))
glue("n-after-bound", sum(among(by_chance(p), len(of_encoders)) < 1 - LEVEL for p in of_encoders) or "none")
glue("much-faster", much_faster(of_encoders))
new_seeds = named(complete, "confirm_mini_new_seeds")
glue("again", asked_again(new_seeds))
glue("again-shortly", asked_again_shortly(new_seeds))
glue("first-seeds", len(first.contrast) if first else "–")
glue("first-setting", f"{Size.of(first.config)}, {first.tokens}" if first else "–")
glue("planned-first", with_interval(first.contrast.difference(), as_nats) if first else "–")
glue("planned-first-number", as_nats(first.contrast.difference().value) if first else "–")
glue("first-p", f"{by_chance(first):.3f}" if first else "–")
glue("first-among", f"{among(by_chance(first), len(of_encoders)):.2f}" if first else "–")
glue("first-between", with_interval(speed_up_of(first.contrast, between=True), as_percent) if first else "–")

# %% tags=["remove-input"]
planned_figure(judged) if judged else print("No planned experiment is complete yet.")

# %% tags=["remove-cell"]
gains = [case for case in recorded_runs.gains(encoders) if case.known]
where = "; ".join(sorted({str(Size.of(e.config)) for e in encoders}))
if all_met(gains):
    so = f"in these models ({where}) most of its gain comes with its symmetry."
elif gains and all(case.reversed for case in gains):
    so = f"in these models ({where}) most of its gain comes without its symmetry, from scale, biases and values."
else:
    so = f"which part of it carries its gain in these models ({where}) is not decided."
glue("so", so)
for name, start in (("tie", "symmetric"), ("released", "released"), ("untied", "default-linear")):
    shares = [speed_up_of(c, window).value for e in encoders for c in e.contrasts([by_pair[start, "random"]]).values()]
    glue(f"{name}-saves", extent(shares, as_percent))
glue("equal-encoders", tally(encoders, AT_EQUAL_SCALE))
glue("equal-decoders", tally(decoders, AT_EQUAL_SCALE))
glue("tie", tally(main, [by_pair["released", "default-linear"]]))
glue("scaled-tie", tally(main, [by_pair["scaled-symmetric", "scaled"]]))
glue("scaled", tally(main, [by_pair["scaled", "random"]]))

# %% tags=["remove-cell"]
floors = [between_random_starts(e, window)[1] for e in main]
glue("floor-first", extent([x for of_experiment in floors[:1] for x in of_experiment], as_percent))
glue("least", LEAST_SEEDS, "d")
glue("largest-speed-up", printed_table("1")["speed_up_percent"].max(), ".0f")
for name, width in (("4", 256), ("12", 768), ("24", 1024)):
    glue(f"scale-{name}", recipe.scale_factor(width), ".2f")
glue("scale-ours", recipe.scale_factor(main[0].config["d_model"]) if main else float("nan"), ".1f")
for name, factor in (("mini", 1.0), ("released", recipe.scale_factor(256))):
    glue(f"logit-{name}", recipe.self_logit(256, heads=4, scale=factor), ".2f")
speed = printed_table("1").dropna().set_index(["layers", "dataset"])["speed_up_percent"]
glue("gains-12", " and ".join(f"{x:.0f}" for x in speed[12] if x > 0))
glue("gain-24", printed_table("web").dropna().set_index("layers")["speed_up_percent"][24], ".0f")

# %% tags=["remove-cell"]
glue("n-plans", len(plans), "d")
glue("n-judged", len(complete) or "None")
for name, of_part in (("encoders", of_encoders), ("decoders", [p for p in symmetry if not p.encoder])):
    glue(f"spread-{name}", f"{max(map(spread, of_part)):.2f}" if of_part else "–")
glue("fine-plan", BAND, "g")
glue("share-plan", as_percent(SHARE))
grid = as_percent(max((grid_of(p.contrast) for p in symmetry), default=0))
least = min(of_encoders, key=by_chance, default=None)
n_lower, chance = lower_by_chance(of_encoders)
glue("n-lower", n_lower, "d")
glue("lower-by-chance", f"{chance:.3f}")
glue("least-p", f"{by_chance(least):.3f} ({least.label})" if least else "–")
glue("least-among", f"{among(by_chance(least), len(of_encoders)):.2f}" if least else "–")

sizes_asked = {Size.of(e.runs[0].settings) for e in plans if e.name.startswith("confirm_size")}
depth, width = ends(worth, "layers", TIE, sizes_asked), ends(worth, "width", SCALE, sizes_asked)
glue("grows-with-depth", shown(depth and depth.appears))
glue("shrinks-with-width", shown(width and width.shrinks))
glue("depth-change", with_interval(depth.change, as_nats) if depth else "–")
glue("width-change", with_interval(width.change, as_nats) if width else "–")
for name, end in (("narrow", width and width.small), ("wide", width and width.large)):
    glue(f"{name}-ends", final_losses(at_size[end.size]) if end else "–")
own_shape = named(complete, "confirm_mini")
glue("shape-tokens", own_shape.tokens if own_shape else "–")
short = named(complete, "confirm_size_4x256")
glue("shape-short", f"{with_interval(short.contrast.difference(), as_nats)} nats, {short.by_plan}" if short else "–")
earlier = next((e for e in recorded if own_shape and Size.of(e.config) == Size.of(own_shape.config)), None)
known = earlier.contrasts([by_pair["symmetric", "random"]]) if earlier else {}
glue("shape-earlier", *([f"{with_interval(c.difference(), as_nats)} nats" for c in known.values()] or ["–"]))
glue("shape-short-tokens", short.tokens if short else "–")
glue("shape-difference", with_interval(own_shape.contrast.difference(), as_nats) if own_shape else "–")
glue("shape-saved", as_percent(speed_up_of(own_shape.contrast).value) if own_shape else "–")
glue("shape-seeds", len(own_shape.contrast) if own_shape else "–")
untied = own_shape and own_shape.less_random("default-linear")
glue(
    "without-tie",
    told(
        "without the tie",
        "complete",
        difference=with_interval(untied.difference(), as_nats),
        saved=with_interval(speed_up_of(untied), as_percent),
    )
    if untied
    else "",
)
glue("shape-differences", all_differences(own_shape) if own_shape else "–")
glue("tie-by-size", beyond_noise(worth, TIE_AT_RELEASED_SCALE))
warmer, scaled = (temperature and temperature.less_random(arm) for arm in ("warmer", "scaled"))
changes = {"warmer": warmer, "scaled": scaled} if warmer and scaled else {}
words = {arm: with_interval(contrast.difference(), as_nats) for arm, contrast in changes.items()}
glue("warmer", told("warmer", "complete", **words) if words else "")

# %% tags=["remove-cell"]
contrasts = [c for e in main for c in e.contrasts(AT_EQUAL_SCALE).values() if c.difference().has_interval]
needed = [seeds_needed(c.differences().std(), fine) for c in contrasts]
for name, of in (("earlier", contrasts), ("planned", [p.contrast for p in symmetry])):
    ends_of = [c.difference() for c in of]
    glue(f"{name}-gain", f"{-min(e.low for e in ends_of):.3f}" if ends_of else "–")
    glue(f"{name}-harm", f"{max(e.high for e in ends_of):.3f}" if ends_of else "–")
glue("needed", f"{max(needed)}" if needed else "unknown")
glue("fine", fine, "g")
everything = [r for e in recorded for r in e.runs] + [r for p in complete for arm in p.arms.values() for r in arm.runs]
glue("n-runs", len(everything), "d")
glue("hours", sum(run.about["seconds"] for run in everything) / 3600, ".0f")
sizes = {Size.of(run.config) for run in everything}
glue(
    "tokens-share",
    f"{100 * max(Training.of(r.config).tokens for r in everything) / Training.of(DEFAULTS).tokens:.2f} %",
)
glue("depths", extent((size.layers for size in sizes), str))
glue("widths", extent((size.width for size in sizes), str))
glue("usual-width", main[0].config["d_model"] if main else "–")
glue("paper-width", trained_widths()[4], "d")
glue("steps-share", f"{100 * max((run.config['steps'] for run in everything), default=0) / DEFAULTS['steps']:.1f} %")

# %% [markdown]
# ## What the two starts differ in
#
# Section S2.1 of the paper gives the recipe: random query weights, and key weights set equal to them.

# %%
show(recipe.symmetric_recipe(d=d, seed=seed))

# %% [markdown]
# The recipe does more than make $W_{qk}$ symmetric. $W_q W_q^\top$ is positive semi-definite with a large diagonal, so each
# token leans towards itself from the start. How far depends on the scale: a token's mean logit with itself is
# {glue:text}`logit-mini` at the width of the paper's four-layer model, and {glue:text}`logit-released` with the released
# code.
#
# The released code does a third thing: before it ties keys to queries, it draws both, and the values, anew with the defaults
# of `torch.nn.Linear`. That multiplies the scale of $W_{qk}$ by {glue:text}`scale-4` in the 4-layer model, by
# {glue:text}`scale-12` in the 12-layer one and by {glue:text}`scale-24` in the 24-layer one. The two largest speed-ups are
# printed where this factor is largest. It does not explain the {glue:text}`gains-12` % at 12 layers, nor the
# {glue:text}`gain-24` % that the web page has for 24, where it is near 1 or below: those rows, of one seed each, are the
# paper's best evidence for symmetry.

# %%
show(recipe.scale_of_the_released_recipe(seed=seed))

# %% [markdown]
# ## What we ran
#
# Each start below leaves alone what it does not name, and is compared with another at equal seeds: equal text in equal order,
# and equal weights wherever the two starts do not differ.

# %% tags=["remove-input"]
table(
    pd.DataFrame([{"start": p.start, "against": p.against, "what the pair isolates": p.isolates} for p in PAIRS]),
    name="tab-init-contrasts",
    caption="Pairs of starts. *released* is what the released code calls symmetric.",
)

# %% [markdown]
# Two of these starts are symmetric at the scale of the random one: `symmetric` sets the keys to the queries,
# `symmetric-indefinite` gives $W_{qk}$ as many negative eigenvalues as positive ones. `default-linear` is `released` without
# the tie.
#
# A start has a lower or a higher final held-out loss than another if the 95 % interval of the mean difference over seeds
# (Student's $t$, at least {glue:text}`least` seeds) leaves out zero; otherwise there is no difference beyond the noise
# between seeds. [How speed-ups are measured](symmetric_initialisation_details.py#how-the-differences-are-measured) has the
# rest.
#
# ## What the planned runs say
#
# Of each planned experiment the question, the measure, the seeds, and what would count as what [were written
# down](../recorded_runs.md#planned-runs) before its first run. {glue:text}`n-judged` of {glue:text}`n-plans` can be judged
# so far; {numref}`fig-init-planned` shows those that compare a symmetric with a random start in models of the earlier runs'
# size. What counts as what: two starts do not differ in a way that counts if the 95 % interval of their difference lies
# within ±{glue:text}`fine-plan` nats, which is judged first; a start is *faster* if otherwise that interval lies below
# zero, and *by {glue:text}`share-plan` of steps or more* if, besides, the interval of the steps saved lies above
# {glue:text}`share-plan`; *slower* if the interval of the loss lies above zero; else the plan is *undecided*. The interval
# of the steps saved is that of [resampled seeds](symmetric_initialisation_details.py#how-the-differences-are-measured), too
# narrow with few of them.
#
# Runs of one start that differ in their seed alone end up to {glue:text}`spread-encoders` nats apart in an experiment with
# encoders, {glue:text}`spread-decoders` in one with decoders: an encoder's loss stays on a plateau, and when it leaves it
# differs from seed to seed. {numref}`tab-init-planned` has the seeds that an interval of ±{glue:text}`fine-plan` nats would
# take, which few seeds tell only roughly. The least p of the {glue:text}`n-encoder-plans` comparisons of encoders is
# {glue:text}`least-p`; that the least of as many is no larger has by chance a probability of at most
# {glue:text}`least-among` (Bonferroni), a bound for which no plan asks. That {glue:text}`n-lower` or more of as many
# independent intervals lie below zero has by chance one of {glue:text}`lower-by-chance`. What was planned when, and what of
# it was not run, is [told with the runs](../recorded_runs.md#planned-runs).

# %% tags=["remove-input"]
if symmetry:
    table(
        planned_table(symmetry),
        name="tab-init-planned",
        caption="The planned comparisons of a symmetric with a random start of equal scale, and what their plans let them say. "
        f"Steps saved are those of the plan, rounded down to a measurement of the loss, by up to {grid}.",
    )

# %%
show(symmetry_as_planned())

# %% [markdown]
# With straight lines drawn between measurements of the loss, instead of rounding down to one, the comparison with most seeds
# saves {glue:text}`first-between` of the steps.
#
# *Depth.* Symmetry's part grows with depth, the plans said, if its interval lies below zero in the deepest models and not
# in the shallowest: {glue:text}`grows-with-depth`. That puts two intervals side by side; deepest less shallowest is
# {glue:text}`depth-change` nats.
#
# *Width.* The part of scale, biases and values shrinks with width, as the factor of the scale does, if it is nearer zero in
# the widest models than in the narrowest; we also ask that the intervals lie apart: {glue:text}`shrinks-with-width`. Widest
# less narrowest is {glue:text}`width-change` nats. How far training has come differs with the width, too, as all sizes have
# one learning rate: final losses in the narrowest models are {glue:text}`narrow-ends`; in the widest
# {glue:text}`wide-ends`. Where some runs have left the plateau within their steps and others have not, a mean difference
# tells how many have.
#
# *The tie at the released scale*, a further comparison of these plans and not their primary one, changes the final loss
# beyond the noise between seeds in {glue:text}`tie-by-size`.
#
# *The shape of the paper's four-layer model* has a plan of its own, written before those of the sizes, with
# {glue:text}`shape-tokens` to read and a lower learning rate ({numref}`fig-init-shape`). Final losses differ by
# {glue:text}`shape-differences` nats; the first comparison is the primary one, and of the further ones those that are
# complete are given. Of the same shape the plan by size, with {glue:text}`shape-short-tokens` in shorter blocks, has
# {glue:text}`shape-short`; the earlier runs, with the same numbers of seeds, had {glue:text}`shape-earlier`.

# %% tags=["remove-input"]
size_figure(worth) if len({w.size for w in worth}) > 1 else None

# %% tags=["remove-input"]
planned_figure([p for p in (own_shape, new_seeds) if p], name="fig-init-shape") if own_shape else None

# %% [markdown]
# ## What the earlier runs say
#
# Settings and seeds of these were chosen while they were made; every difference with its interval is in
# {numref}`fig-init-all`.
#
# *Symmetry at equal scale.* Keys tied to queries and nothing else saved {glue:text}`tie-saves` of the steps, by text. The
# final loss of the two symmetric starts, set against that of the random one, is
# {glue:text}`equal-encoders` of encoders, and {glue:text}`equal-decoders` of decoders.
#
# *All that the released code changes.* `released` saved {glue:text}`released-saves` of the steps of encoders; the same
# without the tie, `default-linear`, saved {glue:text}`untied-saves`. The tie at that scale leaves the final loss
# {glue:text}`tie`.
#
# *The scale alone.* Where only the scale of queries and keys is raised to the released one, the final loss is
# {glue:text}`scaled`. The tie at that scale, and nothing else, leaves it {glue:text}`scaled-tie`. That larger logits
# alone do as much is {glue:text}`logits-alone`
# ([details](symmetric_initialisation_details.py#does-the-scale-act-through-the-logits)). {glue:text}`warmer`

# %% tags=["remove-input"]
made_of(encoders) if encoders else print("No runs with different starts are recorded yet.")

# %%
show(
    recorded_runs.symmetry_at_equal_scale(),
    recorded_runs.released_start_on_recorded_runs(),
    recorded_runs.symmetrys_part_of_the_gain(),
)

# %% [markdown]
# The [details](symmetric_initialisation_details.py) have every curve and interval, other learning rates, other settings, what
# becomes of the symmetry (Figure S5 of the paper), and a quantity that training conserves.
#
# ## The printed numbers
#
# The authors released the loss curves behind Table 1: 24 runs, encoders and decoders, with and without the symmetric
# start. An audit, a reading of the released files made before this project's code was written, recomputed the table from
# them; what follows rests on its numbers, second-hand.

# %%
show(printed_speed_ups.table_1_follows_from_the_released_curves(), printed_speed_ups.table_1_counts_the_first_touch())

# %% [markdown]
# The arithmetic of Table 1 is right. Its measure is generous to noisy curves, and its runs have one seed each, so that
# nothing tells how far two random starts lie apart. In our first encoder's runs the speed-up of one random start over
# another, by Table 1's measure, ranges from {glue:text}`floor-first`.

# %% tags=["remove-input"]
pairs_of_seeds = [e for e in main if len(e.arms["random"]) > 1]
roulette(pairs_of_seeds, printed_table("1")) if pairs_of_seeds else print("No start was run with two seeds.")

# %%
show(printed_speed_ups.most_of_the_models(), printed_speed_ups.sentences_of_section_4_2())

# %% [markdown]
# ## What this can say, and what would settle it
#
# The page rests on {glue:text}`n-runs` runs, {glue:text}`hours` hours of one core. Their models have
# {glue:text}`depths` layers of width {glue:text}`widths`, most of them {glue:text}`usual-width`; the smaller of the paper's
# two has 4 of width {glue:text}`paper-width`. The longest run has {glue:text}`steps-share` of the paper's
# steps and reads {glue:text}`tokens-share` of its tokens. At width
# {glue:text}`usual-width` the released start multiplies the scale by {glue:text}`scale-ours`.
#
# In the earlier runs of {numref}`fig-init-all` a gain by symmetry of up to {glue:text}`earlier-gain` nats is not excluded,
# nor a loss of up to {glue:text}`earlier-harm`; in the planned ones gains of up to {glue:text}`planned-gain` and losses of
# up to {glue:text}`planned-harm`. As the earlier runs scatter, {glue:text}`needed` seeds would bring an interval there to
# ±{glue:text}`fine`. Settings and seeds were not fixed in advance but for the planned runs, so the intervals of the others
# are somewhat too narrow ([what was chosen when](../recorded_runs.md#how-the-settings-were-chosen)).
#
# The paper itself (Section 6) calls its findings "an initial step toward leveraging symmetry for more efficient Transformer
# training", and says: "further research is required to assess the scalability of symmetric initialization in large-scale
# models and across diverse domains". What would settle it is Table 1's own size and length with its controls, and as many
# seeds as the scatter of the first few asks for. [Recorded runs](../recorded_runs.md#runs-still-worth-a-gpu) has the
# commands and what they cost on a GPU. If `symmetric` and
# `symmetric-indefinite` both beat `random` there by a share comparable to that of `released`, the paper's explanation stands; if
# `default-linear` does as well as `released`, scale, biases and values explain the gain.
#
# ## What it means for you
#
# - Before you credit a start with its symmetry, compare it with one of equal scale: `attngeo train --init symmetric` and
#   `--init symmetric-indefinite` beside `--init random`, with as many seeds as the scatter of the first few asks for.
# - Where the released start helps, try it without the tie, too (`--init default-linear`). In our earlier runs the final loss
#   with the tie, set against that without, is {glue:text}`tie`; in the planned ones the tie changes it beyond the noise in
#   {glue:text}`tie-by-size`.
