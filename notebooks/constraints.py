# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Forbid symmetry and the encoder suffers, the decoder hardly
#
# Does an encoder need a symmetric query-key matrix $\Wqk$? The paper {cite}`saponati2025` names a way to ask: a *constraint*, a
# term in the loss that pulls $\Wqk$ towards symmetry or away from it (Appendix S2.1). It reports no result with it.
#
# **A small encoder that is held skew-symmetric ends {glue:text}`encoder-cost` nats worse on text it has not seen; a decoder,
# {glue:text}`decoder-cost`.** To be held symmetric costs neither of them anything that we can see.

# %% tags=["remove-cell"]
import pandas as pd
import seaborn as sns
import torch
from torch import Tensor

from chapters import positions
from livingpaper.display.page import glue, show, table
from attngeo.plot.style import DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.errors import ParameterError
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import Convention, symmetry_score
from livingpaper.claims.claim import Verdict, claim, exact
from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS, PARTS, Arm, Contrast, circumstances, contrasts, symmetry_of_heads
from attngeo.experiments.runs.experiments import recorded_runs
from attngeo.experiments.runs.numbers_in_words import as_nats, as_score, joined_by_and, with_interval
from attngeo.experiments.runs.record import Run
from attngeo.experiments.training import bert
from attngeo.choices import SYMMETRY, Constraint, Initialisation
from attngeo.experiments.training.config import TrainingConfig
from attngeo.experiments.training.losses import constraint_loss

EQUATIONS = {Constraint.SYMMETRIC: "Eq. S147", Constraint.SKEW: "Eq. S148"}
SIGNS = {Constraint.SYMMETRIC: 1, Constraint.SKEW: -1}
LEAST_AT = {Constraint.SYMMETRIC: 1.0, Constraint.SKEW: -1.0}  # symmetry score
POLES = {Constraint.SYMMETRIC: -1.0, Constraint.SKEW: 1.0}  # symmetry score at which the constraint is infinite
COLOURS = {"free": NEUTRAL, "held symmetric": ENCODER, "held skew-symmetric": DECODER}
HELD = dict(zip(("none", "symmetric", "skew"), COLOURS, strict=True))


def constrained_and_free(runs: list[Run]) -> list[Contrast]:
    """Constrained arms, each beside the free arm of its settings: encoders first, then by constraint and weight."""
    pairs = [p for name in ("symmetric", "skew") for p in contrasts(runs, "constraint", name, "none", free=("gamma",))]
    return sorted(
        pairs, key=lambda p: (list(PARTS).index(p.first.config["objective"]), -SIGNS[p.first.config["constraint"]])
    )


def name_of(arm: Arm) -> str:
    """``encoder, held symmetric``."""
    return f"{PARTS[arm.config['objective']]}, {HELD[arm.config['constraint']]}"


def last_fall(run: Run) -> float:
    """By how much the held-out loss fell over the last fifth of the steps, nats per predicted token."""
    losses = run.curve(LOSS)
    return float(losses.loc[: losses.index[-1] * 4 // 5].iloc[-1] - losses.iloc[-1])


def ends(pairs: list[Contrast]) -> pd.DataFrame:
    """One row per arm, free ones too: loss, symmetry, and how much more the loss was still falling."""
    rows = {}
    for pair in pairs:
        for arm, beside in ((pair.second, None), (pair.first, pair)):
            rows[name_of(arm)] = {
                "loss, more than free": with_interval(beside.difference(), as_nats) if beside else "–",
                "s, layers": as_score(arm.mean("symmetry")),
                "s, heads": as_score(arm.mean(symmetry_of_heads)),
                "fell more at the end": with_interval(beside.difference(last_fall), as_nats) if beside else "–",
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def seeds_and_circumstances(arms: dict[str, Arm]) -> pd.DataFrame:
    """Of arms with equal settings, a row per arm: seeds, mean symmetry, and what the settings do not fix."""
    rows = []
    for experiment, arm in arms.items():
        made = circumstances(arm)
        commits = dict.fromkeys(commit[:8] for commit in made["commit"])
        rows.append(
            {
                "experiment": experiment,
                "seeds": len(arm),
                "s": as_score(arm.mean("symmetry")),
                "precision": ", ".join(dict.fromkeys(made["precision"])),
                "processor": ", ".join(dict.fromkeys(made["processor"])),
                "commit": ", ".join(commits),
            }
        )
    return pd.DataFrame(rows)


@house_style()
def training_figure(runs: list[Run]) -> CaptionedFigure:
    """Held-out loss and symmetry over steps, a colour per constraint, a column per objective."""
    parts = list(dict.fromkeys(PARTS[run.config["objective"]] for run in runs))
    figure, panels = new_figure(8, 3.6, 2, len(parts), sharex="col", sharey="row", squeeze=False)
    for row, measure, words in zip(panels, (LOSS, "symmetry"), ("held-out loss (nats)", "symmetry s"), strict=True):
        for panel, part in zip(row, parts, strict=True):
            of_part = [run for run in runs if PARTS[run.config["objective"]] == part]
            curves = [run.curve(measure).rename(words).rename_axis("step").reset_index() for run in of_part]
            names = [HELD[run.config["constraint"]] for run in of_part]
            frame = pd.concat(c.assign(model=name) for c, name in zip(curves, names, strict=True))
            style = {"palette": COLOURS, "hue_order": list(COLOURS), "legend": panel is panels[0, -1]}
            # bands from the least seed to the most
            sns.lineplot(frame, x="step", y=words, hue="model", errorbar=("pi", 100), ax=panel, **style)
            panel.set_title(part if measure == LOSS else "")
    panels[0, -1].legend(title=None)
    for panel in panels[1]:
        panel.axhline(0, color="black", linewidth=0.8)
    caption = """Loss on held-out text, and symmetry of $\\Wqk$ (median over layers), free or held by a constraint. Bands
    reach from the least to the largest seed."""
    alt = """Curves over steps for an encoder and a decoder. Above, the loss: the skew-symmetric encoder stays above the other
    two, the three decoders fall together. Below, symmetry: held models come near 1 or −1, free ones do not."""
    return CaptionedFigure(figure, "fig-constraint-recorded", caption, alt)


pairs = constrained_and_free(recorded_runs(data("runs")))
used = list({id(run): run for pair in pairs for run in (*pair.second.runs, *pair.first.runs)}.values())

# %% tags=["remove-input"]
training_figure(used)

# %% tags=["remove-cell"]
cost = {name_of(pair.first): pair.difference() for pair in pairs}
encoder, decoder = (cost.pop(f"{part}, held skew-symmetric") for part in ("encoder", "decoder"))
assert encoder.low > decoder.high > 0 > decoder.low  # the title; of the decoder the runs do not tell a cost from none
assert all(other.low < 0 < other.high for other in cost.values())  # to be held symmetric
glue("encoder-cost", encoder.value, ".2f")
glue("decoder-cost", decoder.value, ".2f")
about = used[0].config
(gamma,) = {pair.first.config["gamma"] for pair in pairs}
for name, value in {"wide": about["d_model"], "deep": about["layers"], "seeds": len(pairs[0]), "gamma": gamma}.items():
    glue(name, value)

# %% [markdown]
# :::{admonition} How sure is this
# - The models read characters, in {glue:text}`deep` layers of width {glue:text}`wide`. Of the constraint one weight was tried,
#   $\gamma$ = {glue:text}`gamma`.
# - Over {glue:text}`seeds` seeds the interval of the decoder's cost holds 0 ({numref}`tab-constraint-effects`).
# - The skew-symmetric encoder was still catching up at the end, so part of its cost may be a delay.
# - Decoders were trained for fewer steps, and their free $\Wqk$ is not symmetric anyway.
# :::
#
# ## What is added to the loss
#
# The symmetry score $s$ is 1 for a symmetric matrix, −1 for a skew-symmetric one ($M\T = -M$) and near zero for a
# random one ([Two scores](two_scores_details.py)). A constraint is a function of $s$.
#
# ````{prf:definition} Eqs. S146 to S148 of the paper, with squared norms
# :label: def-constraints
#
# With the prediction loss $\mathcal{L}$ and a weight $\gamma > 0$ (not the $\gamma$ of {prf:ref}`def-3-2`), training
# minimises $\mathcal{L} + \gamma \mathcal{L}_c$, where $\mathcal{L}_c$ is the mean over the layers of
#
# $$
# \begin{aligned}
# \frac{\norm{M}^2}{\norm{M_s}^2} &= \frac{2}{1 + s} , \\
# \frac{\norm{M}^2}{\norm{M_n}^2} &= \frac{2}{1 - s} ,
# \end{aligned}
# $$ (eq-constraints)
#
# the first to make $M$ symmetric, the second to make it skew-symmetric. Here $M = \Wqk$ summed over heads, and $M_s$ and $M_n$
# are its symmetric and skew-symmetric parts.
# ````
#
# The right-hand sides follow from $\norm{M_s}^2 = (1 + s) \norm{M}^2 / 2$ ({prf:ref}`lem-s1-16` with {prf:ref}`def-3-1`).
# The size of the weights does not count, and each head by itself is not bound. At random weights the term is near 2, and its
# minimum is 1.


# %% tags=["remove-cell"]
def random_forms(count: int = 20, d: int = 12) -> list[BilinearForm]:
    """Forms of four heads of width 3, of normal factors."""
    generator = torch.Generator().manual_seed(0)
    return [BilinearForm(wq, wk) for wq, wk in torch.randn(count, 2, 4, d, 3, generator=generator, dtype=torch.float64)]


def of_symmetry(s: float | Tensor, d: int = 12) -> BilinearForm:
    """``M = sqrt((1 + s) / 2) A + sqrt((1 - s) / 2) B`` has symmetry score s: A symmetric, B skew, both of norm 1."""
    x = torch.randn(d, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    symmetric, skew = (part / part.norm() for part in (x + x.T, x - x.T))
    m = ((1 + s) / 2) ** 0.5 * symmetric + ((1 - s) / 2) ** 0.5 * skew
    return BilinearForm(m[None], torch.eye(d, dtype=m.dtype)[None])


def value(form: BilinearForm, constraint: Constraint) -> float:
    """``L_c`` of one layer."""
    return float(constraint_loss([form], constraint))


def descend(constraint: Constraint, steps: int = 300) -> float:
    """Symmetry score at the end of a descent from a random form."""
    factors = [w.clone().requires_grad_() for w in (random_forms()[0].wq, random_forms()[0].wk)]
    optimiser = torch.optim.Adam(factors, lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        constraint_loss([BilinearForm(*factors)], constraint).backward()
        optimiser.step()
    return symmetry_score(BilinearForm(*(w.detach() for w in factors)))


def course(constraint: Constraint):
    """Values on random forms, at the minimum, and where a descent ends."""
    sign, best = SIGNS[constraint], LEAST_AT[constraint]
    errors = [abs(value(form, constraint) - 2 / (1 + sign * symmetry_score(form))) for form in random_forms()]
    formula = rf"largest $\lvert L_c - 2 / (1 {'+' if sign > 0 else '-'} s) \rvert$, {len(errors)} random forms"
    yield exact(formula, max(errors))
    yield exact(f"$L_c$ at $s = {best:g}$", value(of_symmetry(best), constraint), 1)


# %% [markdown]
# The paper says where the second constraint leads: "to a symmetry score of $s = 0$" (Section S2.1, after Eq. S148). In
# fact it leads to −1.


# %%
@claim(
    "Eq. S148",
    "(minimum)",
    "the constraint that favours skew-symmetry is least at $s = -1$",
    Verdict.MISPRINT,
    printed='"To encourage skew-symmetry, we minimize the condition" S148, "leading to a symmetry score of $s = 0$".',
    place="Section S2.1, before and after Eq. S148",
    remark="The released code's score, $(1 + s)/2$, is 0 there: the sentence follows that convention.",
)
def skew_constraint():
    skew, released = Constraint.SKEW, symmetry_score(of_symmetry(-1.0), Convention.RELEASED)
    words = "$s$ after a descent from a random form"
    yield exact(words, descend(skew), LEAST_AT[skew], 0.01, paper="= 0")
    yield exact("$L_c$ at the printed $s = 0$", value(of_symmetry(0.0), skew), 2)
    yield exact("the released code's score at $s = -1$", released)
    yield from course(skew)
    return {"holds": "It leads to $s = -1$; at $s = 0$ the constraint is 2, twice its least."}


show(skew_constraint(), unfolded=True)

# %% [markdown]
# The first is least where the paper has it. Squares of matrices are to be read as squared norms.


# %%
@claim("Eq. S147", "(minimum)", "the constraint that favours symmetry is least at $s = 1$", Verdict.HOLDS)
def symmetric_constraint():
    symmetric = Constraint.SYMMETRIC
    yield exact("$s$ after a descent from a random form", descend(symmetric), LEAST_AT[symmetric], 0.01)
    yield from course(symmetric)


show(symmetric_constraint())


# %% tags=["remove-cell"]
def trained_loss(constraint: Constraint, weight: float) -> tuple[float, list[float]]:
    """What a small encoder of random weights adds to its loss in training, and the symmetry of its layers."""
    shape = bert.Shape(layers=3, d_model=16, heads=2, d_ff=16, vocab_size=30, dropout=0.0)
    model = bert.build_model(shape, causal=False).double().train()
    model.constraint, model.constraint_weight = constraint, weight
    tokens = {"input_ids": torch.arange(8)[None], "positions": torch.tensor([[1, 4]]), "labels": torch.tensor([[5, 6]])}
    with torch.no_grad():
        outputs = model(**tokens)
        return float(outputs["loss"] - outputs["prediction_loss"]), [symmetry_score(form) for form in bert.forms(model)]


# %%
@claim(
    "Eq. S146",
    "",
    r"the constraint is added to the loss with weight $\gamma$",
    Verdict.HOLDS,
    remark=r"For several layers we take the mean of $\mathcal{L}_c$; the paper does not say.",
)
def constrained_loss(weight=0.5):
    for constraint, equation in EQUATIONS.items():
        added, scores = trained_loss(constraint, weight)
        expected = weight * sum(2 / (1 + SIGNS[constraint] * s) for s in scores) / len(scores)
        yield exact(rf"{equation}: added to the loss of {len(scores)} layers, $\gamma$ = {weight:g}", added, expected)


show(constrained_loss())

# %% [markdown]
# ## Where a constraint cannot start
#
# Each constraint is infinite where the other is least. A start with $\Wk = \Wq$ lies outside the skew one, a skew-symmetric
# start outside the other. `attngeo train` refuses both.


# %% tags=["remove-cell"]
def accepted(initialisation: Initialisation, constraint: Constraint) -> bool:
    """Whether a training may start so."""
    try:
        TrainingConfig(init=initialisation.value, constraint=constraint.value, gamma=1.0)
    except ParameterError:
        return False
    return True


# %%
@claim(
    "Eq. S147",
    "and S148, poles",
    "a start at the opposite structure is outside the constraint's domain",
    Verdict.ASSUMPTION,
    printed="""The loss "is optionally extended with a constraint", and "[w]e optionally initialize the models with either
    symmetric or skew-symmetric attention weights"; no combination is excluded.""",
    place="Section S2.1, Initialization and Loss Constraints",
    holds=r"""S147 needs $M_s \neq 0$ and S148 $M_n \neq 0$: a skew-symmetric start is outside the one, a symmetric start
    outside the other.""",
    missing=(r"$M_s \neq 0$", r"$M_n \neq 0$"),
)
def poles_of_the_constraints(gap=1e-4):
    for constraint, pole in POLES.items():
        equation = EQUATIONS[constraint]
        near = value(of_symmetry(pole - pole * gap), constraint)
        yield exact(rf"{equation}: ${gap:g}\, L_c$ at the distance {gap:g} from the pole", near * gap, 2, 1e-6)
        refused = {start for start in Initialisation if not accepted(start, constraint)}
        outside = {start for start, s in SYMMETRY.items() if s == pole}
        yield exact(f"{equation}: initialisations wrongly refused or accepted", len(refused ^ outside), 0, 0)


show(poles_of_the_constraints())

# %% [markdown]
# ## What it costs
#
# Each constrained model is compared with a free model that has the same settings and starts from the same random numbers
# ({numref}`tab-constraint-effects`). The two also ran on the same kind of processor, in the same numerical precision and
# with the same version of the code.

# %% tags=["remove-input"]
table(
    ends(pairs).rename(index=lambda name: name.replace("held ", "").replace("-symmetric", "")),
    name="tab-constraint-effects",
    caption="At the end of training, with intervals of 95 % over seeds: how far the held-out loss exceeds the free model's (nats);"
    " symmetry of layers and heads; how much more the loss fell over the last fifth of the steps.",
    folded="What every constraint costs, and what it does",
)

# %% tags=["remove-cell"]
for pair in pairs:
    asked = SIGNS[pair.first.config["constraint"]]
    assert asked * pair.first.mean("symmetry") > 0.85 > 0.6 > asked * pair.first.mean(symmetry_of_heads) > 0.35
free = next(pair.second for pair in pairs if pair.second.config["objective"] == "mlm")
for (
    pair
) in pairs:  # "the same kind of processor, in the same numerical precision and with the same version of the code"
    assert len(circumstances(pair.first)) == 1 and circumstances(pair.first).equals(circumstances(pair.second))
planned = {f"`{name}`": positions.recorded(name).arms["mlm-learned"] for name in (positions.FIRST, *positions.AGAIN)}
assert all(free.config | {"seed": arm.config["seed"]} == arm.config for arm in planned.values())  # "the same settings"
same_settings = seeds_and_circumstances({"this chapter": free} | planned)
differing = [name for name in ("precision", "processor", "commit") if same_settings[name].nunique() > 1]
assert differing  # "more than the seeds differs"
NAMED = {"precision": "the numerical precision", "processor": "the processor", "commit": "the version of the code"}
glue("what-differs", joined_by_and([NAMED[name] for name in differing]))
late = {name_of(pair.first): pair.difference(last_fall) for pair in pairs}
assert late["encoder, held skew-symmetric"].low > 0

# %% [markdown]
# Layers come near their target, heads about half way: the term acts on their sum, in which heads can cancel each other.
#
# The free encoders here have the same settings as the encoders with learned position embeddings in the planned
# experiments of [the chapter on positions](positions.py), but their mean symmetry scores differ
# ({numref}`tab-constraint-circumstances`). We do not know the reason for this difference, because more than the seeds
# differs between these experiments: {glue:text}`what-differs`.

# %% tags=["remove-input"]
table(
    same_settings,
    name="tab-constraint-circumstances",
    caption="Mean symmetry score $s$ of free encoders with equal settings in several experiments, and what the settings do"
    " not fix. The commit is the version of the code that made the runs.",
    folded="Show the experiments with equal settings",
)

# %% [markdown]
# ## What it means for you
#
# - Do not hold an encoder skew-symmetric. Holding it symmetric neither costs nor gains anything that we can see.
# - Try it: `attngeo train --constraint symmetric --gamma 0.1 -o RUN`, or `--constraint skew`.
# - The term does not make single heads symmetric: see `attngeo score RUN/model --per-head`.
