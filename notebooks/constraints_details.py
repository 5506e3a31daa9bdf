# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: Does an encoder need symmetry?
#
# On this page, we define the two constraints that we use in the chapter [*Does an encoder with learned position embeddings
# need symmetry?*](constraints.py), and we check their formulas. We also compare experiments in which the encoders differ in
# symmetry although the settings are the same.

# %% tags=["remove-cell"]
import torch
from torch import Tensor

from chapters import constraints, positions
from attngeo.experiments.runs.circumstances import made_alike
from livingpaper.display.page import glue, show, table
from attngeo.errors import ParameterError
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import Convention, symmetry_score
from livingpaper.claims.claim import Verdict, claim, exact
from attngeo.experiments.runs.numbers_in_words import joined_by_and
from attngeo.experiments.training import bert
from attngeo.choices import SYMMETRY, Initialisation
from attngeo.experiments.training.choices import Constraint
from attngeo.experiments.training.config import TrainingConfig
from attngeo.experiments.training.losses import constraint_loss

EQUATIONS = {Constraint.SYMMETRIC: "Eq. S147", Constraint.SKEW: "Eq. S148"}
SIGNS = {Constraint.SYMMETRIC: 1, Constraint.SKEW: -1}
LEAST_AT = {Constraint.SYMMETRIC: 1.0, Constraint.SKEW: -1.0}  # symmetry score
POLES = {Constraint.SYMMETRIC: -1.0, Constraint.SKEW: 1.0}  # symmetry score at which the constraint is infinite

# %% [markdown]
# ## The two constraints
#
# Each constraint is a term that is added to the loss. The term is a function of the symmetry score $s$ and is multiplied by
# a weight. The formulas in the paper contain squares of matrices, which we interpret as squared norms.
#
# ````{prf:definition} Eqs. S146 to S148 of the paper, with squared norms
# :label: def-constraints
#
# Let $\mathcal{L}$ be the prediction loss, and let $\gamma > 0$ be a weight, which is unrelated to the $\gamma$ of
# {prf:ref}`def-3-2`. Training minimises $\mathcal{L} + \gamma \mathcal{L}_c$, where $\mathcal{L}_c$ is the mean over the
# layers of
#
# $$
# \begin{aligned}
# \frac{\norm{M}^2}{\norm{M_s}^2} &= \frac{2}{1 + s} & &\text{to enforce symmetry, or} \\
# \frac{\norm{M}^2}{\norm{M_n}^2} &= \frac{2}{1 - s} & &\text{to forbid symmetry.}
# \end{aligned}
# $$ (eq-constraints)
#
# Here, $M$ is the sum of $\Wqk$ over the heads of a layer, and $M_s$ and $M_n$ are the symmetric and the skew-symmetric part
# of $M$.
# ````
#
# The right-hand sides follow from $\norm{M_s}^2 = (1 + s) \norm{M}^2 / 2$ ({prf:ref}`lem-s1-16` and {prf:ref}`def-3-1`). The
# constraints do not depend on the scale of the weights, and they depend only on the sum over heads and not on individual
# heads. For random weights, the values of both constraints are close to 2. The smallest possible value of each constraint
# is 1.


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


def descend(constraint: Constraint, steps: int = 150) -> float:
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
    formula = rf"largest $\lvert L_c - 2 / (1 {'+' if sign > 0 else '-'} s) \rvert$ over {len(errors)} random matrices"
    yield exact(formula, max(errors))
    yield exact(f"$L_c$ at $s = {best:g}$", value(of_symmetry(best), constraint), 1)


# %% [markdown]
# ## Where the constraints are smallest
#
# According to the paper, the second constraint leads "to a symmetry score of $s = 0$" (Section S2.1, after Eq. S148). In
# fact, this constraint leads to $s = -1$.


# %%
@claim(
    "Eq. S148",
    "(minimum)",
    "the constraint that favours skew-symmetry is smallest at $s = -1$",
    Verdict.MISPRINT,
    printed='"To encourage skew-symmetry, we minimize the condition" S148, "leading to a symmetry score of $s = 0$".',
    place="Section S2.1, before and after Eq. S148",
    remark="In the released code, the symmetry score is $(1 + s)/2$, which is 0 at $s = -1$. The quoted sentence seems to refer to this score.",
)
def skew_constraint():
    skew, released = Constraint.SKEW, symmetry_score(of_symmetry(-1.0), Convention.RELEASED)
    words = "$s$ at the end of a descent from a random matrix"
    yield exact(words, descend(skew), LEAST_AT[skew], 0.01, paper="= 0")
    yield exact("$L_c$ at $s = 0$, which the paper states", value(of_symmetry(0.0), skew), 2)
    yield exact("score of the released code at $s = -1$", released)
    yield from course(skew)
    return {"holds": "The constraint leads to $s = -1$. At $s = 0$, its value is 2, which is twice its smallest value."}


show(skew_constraint())

# %% [markdown]
# The first constraint takes its smallest value at $s = 1$, as the paper states.


# %%
@claim("Eq. S147", "(minimum)", "the constraint that favours symmetry is smallest at $s = 1$", Verdict.HOLDS)
def symmetric_constraint():
    symmetric = Constraint.SYMMETRIC
    yield exact("$s$ at the end of a descent from a random matrix", descend(symmetric), LEAST_AT[symmetric], 0.01)
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
    remark=r"The paper does not specify how the layers of a model are combined. We use the mean of $\mathcal{L}_c$ over the layers.",
)
def constrained_loss(weight=0.5):
    for constraint, equation in EQUATIONS.items():
        added, scores = trained_loss(constraint, weight)
        expected = weight * sum(2 / (1 + SIGNS[constraint] * s) for s in scores) / len(scores)
        yield exact(
            rf"{equation}: value added to the loss of a model with {len(scores)} layers, $\gamma$ = {weight:g}",
            added,
            expected,
        )


show(constrained_loss())

# %% [markdown]
# ## Initialisations that a constraint excludes
#
# The value of each constraint is infinite where the other constraint takes its smallest value. Therefore, a model that is
# trained with the constraint that forbids symmetry cannot be initialised with $\Wk = \Wq$. Likewise, a model that is
# trained with the constraint that enforces symmetry cannot be initialised with a skew-symmetric matrix. `attngeo train`
# rejects both combinations with an error message.


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
    "a constraint is not defined for an initialisation with the opposite structure",
    Verdict.ASSUMPTION,
    printed="""The loss "is optionally extended with a constraint", and "[w]e optionally initialize the models with either
    symmetric or skew-symmetric attention weights". No combination is excluded.""",
    place="Section S2.1 (Initialization and Loss Constraints)",
    holds=r"""Eq. S147 requires $M_s \neq 0$, which excludes skew-symmetric initialisation, and Eq. S148 requires $M_n \neq 0$,
    which excludes symmetric initialisation.""",
    missing=(r"$M_s \neq 0$", r"$M_n \neq 0$"),
)
def poles_of_the_constraints(gap=1e-4):
    for constraint, pole in POLES.items():
        equation = EQUATIONS[constraint]
        near = value(of_symmetry(pole - pole * gap), constraint)
        yield exact(rf"{equation}: ${gap:g}\, L_c$ at a distance of {gap:g} from the pole", near * gap, 2, 1e-6)
        refused = {start for start in Initialisation if not accepted(start, constraint)}
        outside = {start for start, s in SYMMETRY.items() if s == pole}
        yield exact(
            f"{equation}: number of initialisations that are wrongly refused or accepted", len(refused ^ outside), 0, 0
        )


show(poles_of_the_constraints())

# %% [markdown]
# ## Equal settings, different symmetry
#
# Our encoders without a constraint have the same settings as the encoders with learned position embeddings in [our planned
# experiments on positional encoding](positions.py). Nevertheless, the mean symmetry scores of the encoders differ between
# the experiments ({numref}`tab-constraint-circumstances`). We do not know the reason for this difference, because the
# experiments differ not only in their seeds but also in {glue:text}`what-differs`.

# %% tags=["remove-input"]
recorded = constraints.recorded()
free = next(pair.second for pair in recorded if constraints.part_of(pair.second) == "encoder")
planned = {f"`{name}`": positions.recorded(name).arms["mlm-learned"] for name in positions.CHARACTERS}
same_settings = constraints.seeds_and_circumstances({"this chapter": free} | planned)
table(
    same_settings,
    name="tab-constraint-circumstances",
    caption="Mean symmetry score $s$ of encoders without a constraint in several experiments with equal settings, and"
    " the conditions that are not part of the settings. The commit identifies the version of the code with which we"
    " trained the models.",
)

# %% tags=["remove-cell"]
assert all(free.config | {"seed": arm.config["seed"]} == arm.config for arm in planned.values())  # "the same settings"
for pair in recorded:  # of which *Does symmetry matter?* says that both ran in the same circumstances
    assert made_alike([pair.first, pair.second])
NAMED = {"precision": "the numerical precision", "processor": "the processor", "commit": "the version of the code"}
differing = [words for column, words in NAMED.items() if same_settings[column].nunique() > 1]
assert differing
glue("what-differs", joined_by_and(differing))
