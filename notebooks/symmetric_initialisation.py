# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Should you start training with a symmetric query-key matrix?
#
# A symmetric start costs nothing: one sets the initial key weights equal to the initial query weights, so that
# $\Wqk = \Wq \Wq\T$ is symmetric. If a symmetric start made encoders learn faster, everybody should use one. According to
# the paper {cite}`saponati2025`, it helps most encoders, and Table 1 of the paper reports up to {glue:text}`largest-printed` % fewer
# training steps.
#
# **Do not rely on a symmetric start. {glue:text}`answer`** {glue:md}`strength:myst` Moreover, training also differs between
# random starts: by the measure that the paper uses, an encoder with one random seed learns up to {glue:text}`largest-by-seed`
# faster than the same encoder with another random seed. All our models are small, and none of them was trained for as long as
# those of the paper.

# %% tags=["parameters"]
plans: list[str] = []  # names of the planned comparisons to show, such as confirm_mini; all of them if empty
experiment: str = "encoder, plain text"  # models of which two random starts are compared
seed_pair: list[int] = []  # the two seeds that are compared; the pair with the largest speed-up if empty
width: int = 768  # width of your model, for the scale of the initial weights; in [16, 65536]

# %% tags=["remove-cell"]
import pandas as pd

from chapters.symmetric_initialisation import figures, starts, told
from chapters.symmetric_initialisation.cases import ends, loss_case
from chapters.symmetric_initialisation.speed_ups import first_crossing
from chapters.symmetric_initialisation.starts import BASELINE, SHARE, Setting, planned, scale_factor
from livingpaper.display.page import glue, show, table
from livingpaper.display.strength import strength
from livingpaper.claims.claim import Verdict, claim
from livingpaper.claims.published import printed_table
from livingpaper.claims.seed_intervals import too_small
from attngeo.errors import ParameterError
from attngeo.experiments.runs.arms import LOSS
from attngeo.experiments.runs.estimates import HELPS, HURTS
from attngeo.experiments.runs.numbers_in_words import as_nats, as_percent, number, with_interval

WIDTHS = (64, 128, 256, 768, 1024)  # of our models, of the paper's with 4 and 12 layers, of its web page's with 24
BELOW_ZERO = ("confirm_mini", "confirm_mini_new_seeds", "confirm_short_encoder_characters")  # plans whose interval is

every = planned()
symmetry = starts.chosen(starts.about_symmetry(every), plans)
main = starts.main_settings(starts.settings(starts.recorded()))
if experiment not in (names := [setting.label for setting in main]):
    raise ParameterError(f"Parameter experiment is {experiment!r}; choose from {'; '.join(names)}.")
shown = next(setting for setting in main if setting.label == experiment)
two_seeds = starts.pair_of_seeds(shown, seed_pair)
printed = printed_table("1")["speed_up_percent"]
glue("answer", told.answer(symmetry))
glue("strength", strength("in small models"))
glue("largest-printed", printed.max(), ".0f")
glue("largest-by-seed", as_percent(max(max(starts.between_random_starts(e)[1]) for e in main if e.encoder)))

# %% tags=["remove-input"]
figures.plans_figure(symmetry)

# %% tags=["remove-cell"]
everything = [run for setting in (*starts.settings(starts.recorded()), *every.values()) for run in setting.runs]
read = max(starts.Training.of(run.config).tokens for run in everything) / starts.PAPERS.tokens
arms = [arm for p in starts.about_symmetry(every) if p.encoder for arm in (p.primary.first, p.primary.second)]
spread = max(arm.values(LOSS).max() - arm.values(LOSS).min() for arm in arms)
glue("tokens-share", f"{100 * read:.2f} %")
glue("below-zero", told.below_zero(symmetry))
glue("band", starts.BAND, "g")
glue("share", as_percent(SHARE))
glue("spread", spread, ".2f")
glue("by-chance", told.by_chance(symmetry))
glue("planned-gain", -min(p.primary.difference().low for p in symmetry), ".2f")
glue("planned-harm", max(p.primary.difference().high for p in symmetry), ".2f")

# %% [markdown]
# ## What we did
#
# We trained small models that differ in nothing but their start. With a *random start*, query and key weights are drawn
# independently. With a *symmetric start*, the key weights are equal to the query weights and have the same scale as before. For the
# same seed, all other initial weights are equal, and both models read the same text in the same order. For each [planned comparison](../recorded_runs.md#planned-runs), we
# wrote down the question, the measure and the seeds before the first run.
#
# The measure is the final loss on held-out text with the symmetric start minus the final loss with the random start. According
# to the rule that we fixed in the plans, there is *no difference* if the 95 % confidence interval over seeds lies within
# ±{glue:text}`band` nats. Otherwise a symmetric start is *faster* if the interval lies below 0 and *slower* if the interval
# lies above 0, and the comparison is *undecided* if the interval includes 0. We call a symmetric start *clearly faster* if, in
# addition, the interval of the share of training steps that it saves lies above {glue:text}`share`, and *slightly faster*
# otherwise.
#
# {glue:text}`below-zero` Many comparisons are undecided because the loss of an encoder stays on a plateau for a while, and the step
# at which it leaves the plateau depends on the seed. At the end of training, two encoders that differ only in their seed differ by
# up to {glue:text}`spread` nats.
#
# :::{admonition} How sure is this?
# - All models are small. Even in our longest training run, the number of training tokens is only {glue:text}`tokens-share` of
#   the number on which the paper's models were trained.
# - We had used the three seeds of `confirm_mini`, the comparison in which a symmetric start clearly helped, in shorter runs of
#   models with the same dimensions before we planned this comparison. The repetition `confirm_mini_new_seeds` used new seeds.
# - {glue:text}`by-chance`
# - The comparisons do not exclude that a symmetric start lowers the loss by up to {glue:text}`planned-gain` nats, or raises it by up
#   to {glue:text}`planned-harm` nats, in one of these settings.
# - Equal queries and keys also make every token attend more to itself. Our comparisons do not show whether symmetry
#   or this attention of tokens to themselves is responsible for a gain. We have planned two [further
#   experiments](../recorded_runs.md#planned-runs) to distinguish between these two explanations, but we have not carried them
#   out yet.
# :::
#
# ## The check behind the answer
#
# For every planned comparison of encoders, we check whether the confidence interval lies below zero or includes zero.


# %% tags=["remove-cell"]
def of_plans() -> list[Setting]:
    """Planned comparisons of a symmetric with a random start, for encoders."""
    return [p for p in starts.about_symmetry(planned()) if p.encoder]


# %%
@claim(
    "Section 4.2",
    "(planned runs, equal scale)",
    "symmetry alone helps encoders to learn",
    Verdict.UNDECIDED,
    printed=""""[E]nforcing symmetry at initialization leads to lower loss values at the end of training for most of the
    models", and "significantly accelerates convergence".""",
    place="Section 4.2",
)
def symmetry_as_planned():
    cases = {p.plan: loss_case(p, "symmetric") for p in of_plans()}
    for plan, case in cases.items():
        yield from ends(case, "below" if plan in BELOW_ZERO else "around")
    rows = "Each row gives the text, layers × width, the tokens read, the number of seeds and the outcome by the plan."
    return {"remark": f"{too_small(cases.values(), starts.PAPERS)} {rows}"}


show(symmetry_as_planned(), unfolded=True)

# %% tags=["remove-cell"]
losses = shown.arms[BASELINE].curves("loss")
share = first_crossing(losses.index.to_numpy(), *(losses[seed].to_numpy() for seed in two_seeds))
glue("crossing", figures.crossing(shown, two_seeds, share))

# %% [markdown]
# ## Two random starts differ as well
#
# Table 1 of the paper compares one run with a symmetric start with one run with a random start, and it counts the first step at
# which the noisy training loss of the first run is as low as the last loss of the second run. We checked the calculations
# behind the table, and they [are correct](symmetric_initialisation_details.py#the-printed-numbers). To see how large a
# speed-up this measure reports between models that do not differ in symmetry, we apply the measure to pairs of random starts.
# {glue:text}`crossing` {numref}`fig-roulette` shows all pairs of seeds.

# %% tags=["remove-input"]
figures.second_seed(main, shown, two_seeds, printed)

# %% [markdown]
# Our models were trained for far fewer steps than those of the paper, so our results do not show that the speed-ups reported
# in the paper are due to chance. Our results show that, with a single pair of runs, a speed-up cannot be distinguished from
# the variation between seeds.

# %% tags=["remove-cell"]
without_symmetry = {p.plan: p.minus("default-linear") for p in every.values() if "default-linear" in p.arms}
assert all(contrast.outcome() == HELPS for contrast in without_symmetry.values())  # "in all planned comparisons"
glue("n-untied", len(without_symmetry))
glue("widest", max(every[plan].training.width for plan in without_symmetry))
glue("factor-at-width", told.scale_at(width, scale_factor(width)))
tied = starts.tie_at_released_scale(every)
((harmed, harm),) = [(every[plan], c.difference()) for plan, c in tied.items() if c.outcome() == HURTS]
assert scale_factor(WIDTHS[-1]) < 1
glue("increase", as_percent(scale_factor(768) - 1))
glue("tie-harms-shape", harmed.shape)
glue("tie-harms", number(harm.value, 2))
factors = pd.DataFrame(
    [
        {
            "width": f"{d:,}",
            "factor": f"{scale_factor(d):.2f}",
            "effect on the final loss (nats)": "; ".join(
                f"{with_interval(contrast.difference(), as_nats)} ({every[plan].shape.split(' of ')[0]})"
                for plan, contrast in without_symmetry.items()
                if every[plan].training.width == d
            )
            or "not tested",
        }
        for d in sorted({*WIDTHS, width})
    ]
)

# %% [markdown]
# ## A larger scale helps small models without symmetry
#
# According to [a second-hand reading](../notation.md#the-audit) of the authors' code, their symmetric start changes more than
# symmetry. It draws queries, keys and values anew with the default of PyTorch, so that the scale of $\Wqk$ changes by a factor that
# depends on the width of the model, and the biases become random. Our start `default-linear` makes these changes without setting
# keys equal to queries. In all {glue:text}`n-untied` planned comparisons, encoders with this start have a lower final loss than
# encoders with a random start. Most of the gain from the authors' start
# [does not come from symmetry](symmetric_initialisation_details.py#the-released-start-part-by-part).
#
# {glue:md}`factor-at-width:myst` We have tested `default-linear` only up to a width of {glue:text}`widest` ({numref}`tab-init-scale`).

# %% tags=["remove-input"]
table(
    factors,
    name="tab-init-scale",
    caption="The factor by which the start `default-linear` multiplies the scale of $\\Wqk$ at each width, compared with BERT's"
    " initialisation, and the final held-out loss of encoders with this start minus the final held-out loss of encoders with a"
    " random start, with 95 % confidence intervals over seeds. The number of layers is given in parentheses.",
)

# %% [markdown]
# ## What it means for you
#
# - Do not count on a symmetric start to save training steps. If you try it, compare it with a random start of equal scale
#   (`--init random`), and use several seeds for both.
# - Do not combine equal queries and keys with the larger scale of the authors' code unless you test it: in encoders with
#   {glue:text}`tie-harms-shape`, this combination raised the final loss of short runs by {glue:text}`tie-harms` nats.
# - If your model is narrow, try the larger scale without symmetry: `attngeo train --init default-linear`. At a width of 768,
#   this start increases the scale by only {glue:text}`increase`, and in wider models it decreases the scale, so we expect no gain there.
#
# The recipe of the paper, every other comparison, the symmetry that is left after training, and the printed numbers are on the
# [details page](symmetric_initialisation_details.py).
#
# Next: [and directionality?](directionality.py)
