# ---
# jupyter:
#   attngeo:
#     variants:
#       objective: [masked, bidirectional, autoregressive]
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What do the paper's theorems explain?
#
# The paper {cite}`saponati2025` derives the structure of the [query-key matrix](bilinear_form.py) $\Wqk$ from the training objective.
# According to its Theorem 2.4, filling in masked tokens makes $\Wqk$ symmetric. According to its Theorem 2.3, predicting the next
# token makes some columns of $\Wqk$ much larger than the others. If both theorems applied to real models, we could tell from the
# objective alone which structure a model will have. We have therefore checked each step of the argument.
#
# **The theorems do not yet explain why encoders become symmetric.**
#
# - The gradient of $\Wqk$ is a sum over pairs of tokens, as the paper states, once its coefficients include the softmax.
#   {glue:md}`proven:myst`
# - A training step does not move $\Wqk$ along this gradient, because training changes $W_q$ and $W_k$ rather than their product.
#   {glue:md}`proven:myst`
# - Theorem 2.4 is correct if the two tokens of a pair contribute equally to predicting each other. {glue:md}`proven:myst` The
#   paper assumes that they do. {glue:md}`correlation:myst` {glue:text}`in-short` {glue:md}`assumption:myst`
# - Theorem 2.3 does not follow from its premises. {glue:md}`proven:myst`

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the small models, a multiple of n_heads; in [8, 128]
n_heads: int = 4  # attention heads of the model whose training step is compared with its gradient; in [1, 16]
n_tokens: int = 32  # tokens of a sequence; in [4, 64]
n_models: int = 30  # untrained models; in [10, 100]
objective: str = "masked"  # training objective; masked, bidirectional or autoregressive
seed: int = 0  # seed of the first model; in [0, 2147483647]

# %% tags=["remove-cell"]
from chapters import symmetric_updates
from chapters.implicit_gradient import alignment
from chapters.symmetric_updates import (
    HELP,
    STEP,
    Outcome,
    argument_figure,
    coefficients,
    in_training,
    masked_in_turn,
    of_pairs,
    random_gradients,
    steps_of_the_argument,
)
from livingpaper.claims.claim import Verdict, claim, monte_carlo
from livingpaper.display.page import glue, show
from livingpaper.display.strength import strength
from attngeo.gradients.objectives import Objective
from attngeo.gradients.random_updates import agreement, pair_score
from attngeo.gradients.toy_transformer import ToyConfig

BERT = 768, 64  # the width of BERT-base and of one of its heads

chosen = Objective(objective)
toy = ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens)
met = steps_of_the_argument(toy, chosen, n_models, seed)
outcome, early, recorded, planned = in_training()
glue("proven", strength("proven"))
glue("assumption", strength("not shown" if outcome is Outcome.OPEN else "in small models"))
glue("correlation", symmetric_updates.told_correlation(chosen, met[HELP]))
glue("in-short", symmetric_updates.in_short(outcome))
glue("in-training", symmetric_updates.told_in_training(outcome, early, recorded, planned))
glue("objective", chosen.value)
glue("models", n_models)
glue("heads", f"{n_heads} heads of width {toy.d_head}" if n_heads > 1 else f"one head of width {d}")
glue("step", met[STEP].mean(), ".2f")
glue("bert", alignment(*BERT), ".2f")
glue("half", pair_score(agreement(1.0, 0.5), 0.0), ".2f")
glue("minus-half", pair_score(agreement(1.0, -0.5), 0.0), ".2f")

# %% tags=["remove-input"]
argument_figure(met, chosen, alignment(*BERT))

# %% [markdown]
# We computed the exact gradients of {glue:text}`models` small, untrained Transformers with the {glue:text}`objective` objective,
# and compared them with what the argument needs. In {numref}`fig-argument`, an argument from the objective to symmetric updates
# needs all four bars to reach 1. Two of these steps are met. The gradient has the form that the paper states, and an update is
# symmetric if the two tokens of each pair contribute equally to predicting each other. The other two steps are not met at random
# weights, because a training step does not follow the gradient, and because the two tokens of a pair do not contribute equally.
#
# :::{admonition} How sure is this
# - The statements about the form of the gradient, the training step and the two theorems are proven, with one exception: for the angle
#   between the training step and the gradient, we assume Gaussian weights that are independent of the gradient. Trained weights are
#   not.
# - We measured the correlation in one-layer models with random weights, which read random tokens. This measurement does not apply
#   to models that are being trained, so it does not refute Theorem 2.4.
# - On the query side, Theorem 2.4 uses the embedding of the predicted token. In masked training, the position that predicts holds
#   the embedding of the mask instead ({prf:ref}`prop-s1-15-mask`). We have no proof for this case.
# - These small models have no position embeddings. For pairs of *positions* instead of tokens, [we prove a
#   theorem](positions_theory.py) with conditions under which both positions of a pair contribute equally at the start of
#   training.
# :::
#
# ## The gradient is a sum over pairs of tokens
#
# Let $x_i$ be the vector that a layer receives at position $i$. If position $i$ attends to position $j$, this pair of tokens adds
# the matrix $\beta_{ij}\, x_i x_j^\top$ to the gradient of $\Wqk$. The coefficient $\beta_{ij}$ describes how much the loss would
# change if position $i$ paid more attention to token $j$. We call $\beta_{ij}$ the *help* of token $j$ for token $i$. This sum
# over pairs is Proposition 2.2 of the paper.
#
# The paper derives the coefficients $\beta_{ij}$ without the softmax. With the softmax, the sum still has the same form, but the
# coefficients change in two ways. The coefficient of token $j$ is proportional to the attention that token $j$ receives, and the
# help of token $j$ is measured relative to the average help of all tokens to which position $i$ attends. [The details page on the
# gradient](implicit_gradient.py) contains the corrected proposition ({prf:ref}`prop-2-2`) with its proof.
#
# ## A training step does not follow the gradient
#
# An optimiser never changes $\Wqk = \Wq \Wk\T$ directly. It changes $\Wq$ and $\Wk$. One step of gradient descent with learning
# rate $\eta$ therefore changes $\Wqk$ by
#
# $$
# \Delta \Wqk \approx -\eta\, (\Wq \Wq\T G + G\, \Wk \Wk\T) , \qquad G = \frac{\partial L}{\partial \Wqk} ,
# $$
#
# and not by a multiple of $G$, as the paper concludes. Since the heads of a model are much narrower than its embeddings, the
# matrices $\Wq \Wq\T$ and $\Wk \Wk\T$ have a low rank and remove a large part of the gradient. In our untrained models with
# {glue:text}`heads`, the cosine between the training step and the gradient is {glue:text}`step` on average. For a head of
# BERT-base with random weights, the cosine would be {glue:text}`bert` ([proof and
# check](implicit_gradient.py#the-step-on-both-factors-drops-part-of-the-gradient)).
#
# ## Updates are symmetric if two tokens help each other equally
#
# A masked language model meets each pair of words in both orders. In *the dog met my old cat*, the word *dog* is predicted with
# the help of *cat*, and *cat* is predicted with the help of *dog*. Both orders together add the following matrix to the gradient:
# $\beta_{ij}\, x_i x_j^\top + \beta_{ji}\, x_j x_i^\top$. If $\beta_{ij} = \beta_{ji}$, this matrix is symmetric. If
# $\beta_{ij} = -\beta_{ji}$, it is skew-symmetric. Theorem 2.4 of the paper is about the first case ({prf:ref}`thm-s1-14`).
#
# The two coefficients need not be exactly equal. Suppose that the embeddings are orthogonal, and that *dog* contributes twice as
# much to predicting *cat* as *cat* contributes to predicting *dog*. The sum then still has a symmetry score of {glue:text}`half`.
# If the two contributions have opposite signs, however, the symmetry score is {glue:text}`minus-half`. We prove that the symmetry
# score of a whole update is the correlation of $\beta_{ij}$ with $\beta_{ji}$, if the embeddings are orthonormal
# ({prf:ref}`prop-s1-14-update`). The theorem therefore depends on this correlation. To see how symmetric updates add up, open
# {numref}`fig-painter`, choose the objective *bidirectional* with equal coefficients, and add up the pairs of the sentence above
# one by one. The sum ends with $s = 1$.
#
# ## In untrained models, two tokens do not help each other equally
#
# The paper does not derive the correlation. Section S1.4.5 assumes that "predicting one token from the other gives similar
# predictions". In an untrained model, there is no reason for such a correlation. The coefficient $\beta_{ij}$ depends on the
# error at position $i$ and on the value of token $j$, whereas $\beta_{ji}$ depends on the error at position $j$ and on the value
# of token $i$. A random value matrix does not relate these two coefficients. In the following check, we measure the correlation
# for both objectives under which a pair occurs in both orders.

# %%
ASSUMED = """"[W]e assume that predicting the $i$-th token from the $j$-th token is correlated to predicting the $j$-th token
from the $i$-th token.\""""


@claim(
    "2.4",
    "",
    "bidirectional training leads to symmetric weight updates, informally",
    Verdict.STATED,
    printed=ASSUMED,
    place="Section S1.4.5, before Theorem S1.14",
    remark="""The theorem rests on this assumption. For pairs of positions, we prove the assumption on another page, under
    conditions, for one layer at the start of training. For pairs of different tokens, the assumption is not met in
    untrained models that read random tokens.""",
)
def agreement_at_random_weights(d=32, n_tokens=32, n_models=30, seed=0):
    sizes = {"d": d, "n_tokens": n_tokens, "n_models": n_models, "seed": seed}
    bidirectional = random_gradients(Objective.BIDIRECTIONAL, **sizes)
    agreements = {
        "masked, one position at a time": [of_pairs(m.beta) for m in masked_in_turn(**sizes)],
        "bidirectional": [of_pairs(coefficients(g)) for g in bidirectional],
    }
    for name, rho in agreements.items():
        words = rf"correlation of $\beta_{{ij}}$ with $\beta_{{ji}}$ in untrained models, {name}"
        yield monte_carlo(words, rho, 0.1, "<")
        yield monte_carlo(f"lower bound of this correlation, {name}", rho, -0.1, ">")


show(agreement_at_random_weights(d, n_tokens, n_models, seed), unfolded=True)

# %% [markdown]
# A gradient can also be symmetric for other reasons. For example, all masked positions share one embedding, and this fact alone
# gives the gradients of masked training a positive symmetry score at random weights ([Other causes of
# symmetry](symmetric_updates_details.py#gradients-can-be-symmetric-for-other-reasons)). A symmetric update is therefore no
# evidence that two tokens help each other equally.
#
# ## During training
#
# {glue:md}`in-training:myst` We report this experiment on the page [Why?](why.py), together with our other attempts to find the
# cause of the symmetry.
#
# ## Decoders meet both orders of a pair, too
#
# In the paper, encoders and decoders differ because every pair of tokens occurs in both orders in the training of an encoder, but
# in only one order in the training of a decoder. This contrast is correct for a single sequence. Over a corpus, *dog* precedes
# *cat* in some texts and follows *cat* in others, so both orders occur in the training of a decoder as well. Two differences
# between encoders and decoders remain. One difference concerns pairs of positions, which a decoder meets in only one order. The
# other difference is that a decoder always predicts the *next* token ([Over a
# corpus](symmetric_updates_details.py#over-a-corpus-tokens-lose-the-contrast-of-the-two-objectives-and-positions-keep-it)).
#
# ## Theorem 2.3: the dominance of columns does not follow
#
# Theorem 2.3 of the paper states that predicting the next token produces more columns than rows with a large norm, because most
# tokens serve as context more often than they are predicted. The conclusion does not follow. If all tokens of a sequence are
# different and the coefficients are independent and identically distributed, rows and columns have the same distribution of norms
# ({prf:ref}`prop-s1-12-law`). In trained decoders, columns may still dominate for reasons that the theorem does not capture. [The
# details page on column dominance](column_dominance_details.py) gives conditions under which columns do dominate, and [the page
# on directionality](directionality.py) describes the measurements.
#
# ## What it means for you
#
# - Do not take the symmetry of an encoder as a confirmation of Theorem 2.4. Look first at [where the symmetry of an encoder is
#   located](positions.py).
# - Do not predict the movement of $\Wqk$ from its gradient. To see how $\Wqk$ changes, record it during training with
#   `attngeo train --picture-every`.
# - If you want to explain a symmetric matrix by symmetric updates, first measure the correlation of $\beta_{ij}$ with
#   $\beta_{ji}$ in your model. Also keep in mind that symmetric updates never remove the skew-symmetric part of the initial
#   matrix. The symmetric part can only grow larger than this skew-symmetric part ({prf:ref}`prop-2-4-frozen`).
#
# Next: [Does symmetry matter?](constraints.py)
