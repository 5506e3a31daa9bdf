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
# According to Theorem 2.4 of the paper, training a model to fill in masked tokens makes $\Wqk$ symmetric. According to Theorem 2.3,
# training a model to predict the next token makes some columns of $\Wqk$ much larger than the others. If both theorems applied to
# real models, we could predict the structure of a model from its training objective alone. We have therefore checked each step of
# the argument.
#
# **The theorems do not yet explain why encoders become symmetric.**
#
# - The gradient with respect to $\Wqk$ is a sum over pairs of tokens, as the paper states. However, the coefficients of this
#   sum have to account for the softmax, which the paper's derivation ignores. {glue:md}`proven:myst`
# - A training step does not move $\Wqk$ along this gradient, because training changes $W_q$ and $W_k$ rather than their product.
#   {glue:md}`proven:myst`
# - Theorem 2.4 is correct if the two tokens of a pair contribute equally to predicting each other. The paper assumes that the two
#   contributions are correlated.
#   {glue:md}`proven:myst` {glue:md}`correlation:myst` {glue:text}`in-short` {glue:md}`assumption:myst`
# - Theorem 2.3 does not follow from its premises. {glue:md}`proven:myst`

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embeddings in the small models, a multiple of n_heads; in [8, 128]
n_heads: int = 4  # number of attention heads in the model whose training step is compared with its gradient; in [1, 16]
n_tokens: int = 32  # number of tokens in a sequence; in [4, 64]
n_models: int = 30  # number of untrained models; in [10, 100]
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
glue("in-short", symmetric_updates.in_short(outcome, early))
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
# We computed the exact gradients of {glue:text}`models` small, untrained Transformers with the {glue:text}`objective`
# objective. The argument that this objective leads to symmetric updates rests on four requirements, and
# {numref}`fig-argument` shows how well each of them is met. The closer the four bars are to 1, the more symmetric are the
# updates that the argument predicts. The first and the last bar reach 1, because the gradient has the form stated in the
# paper and because an update is symmetric if the two tokens of each pair contribute equally to predicting each other. The
# other two bars stay well below 1 in models with random weights: a training step does not follow the gradient, and the two
# tokens of a pair do not contribute equally to predicting each other.
#
# :::{admonition} How sure is this?
# - With one exception, we prove the statements on this page about the gradient, the training step and the two theorems. For
#   the angle between the training step and the gradient, we assume Gaussian weights that are independent of the gradient,
#   an assumption that trained weights do not satisfy.
# - We measured how equally two tokens contribute to each other's prediction in one-layer models with random weights and
#   random input tokens. The result does not apply to models that are being trained, so it does not refute Theorem 2.4.
# - In the gradient of Theorem 2.4, the query is the embedding of the predicted token. In masked training, however, the
#   predicted token has been replaced by the mask, so the query is the embedding of the mask ({prf:ref}`prop-s1-15-mask`). We
#   have not proved a similar theorem for this case.
# - These small models have no position embeddings. For pairs of *positions*, we derive conditions under which, at
#   initialisation, the two positions of a pair contribute equally to each other's prediction
#   ([theorem](positions_theory.py)).
# :::
#
# ## The gradient is a sum over pairs of tokens
#
# Let $x_i$ be the vector that a layer receives at position $i$. If position $i$ attends to position $j$, the tokens at these
# two positions add the matrix $\beta_{ij}\, x_i x_j^\top$ to the gradient of $\Wqk$. The coefficient $\beta_{ij}$ describes
# how much the loss would change if position $i$ paid more attention to token $j$. We call $\beta_{ij}$ the *contribution* of
# token $j$ to the prediction at position $i$. Proposition 2.2 of the paper states that the gradient is the sum of these
# matrices over all pairs of tokens.
#
# The paper's derivation of the coefficients $\beta_{ij}$ ignores the softmax. With the softmax, the sum still has the same
# form, but the coefficients change in two ways. First, the coefficient of token $j$ is proportional to the attention that
# token $j$ receives. Second, the contribution of token $j$ is measured relative to the average contribution of the tokens to
# which position $i$ attends. The corrected proposition ({prf:ref}`prop-2-2`) is proven on the details page [about the
# gradient](implicit_gradient.py).
#
# ## A training step does not follow the gradient
#
# An optimiser updates the matrices $\Wq$ and $\Wk$ rather than their product $\Wqk = \Wq \Wk\T$. One step of gradient
# descent with learning rate $\eta$ therefore changes $\Wqk$ by
#
# $$
# \Delta \Wqk \approx -\eta\, (\Wq \Wq\T G + G\, \Wk \Wk\T) , \qquad G = \frac{\partial L}{\partial \Wqk} ,
# $$
#
# whereas the paper concludes that this change is a multiple of $G$. The heads of a model are much narrower than its
# embeddings, so the matrices $\Wq \Wq\T$ and $\Wk \Wk\T$ have low rank. Multiplying by these matrices removes a large part
# of the gradient. In our untrained models with {glue:text}`heads`, the cosine between the training step and the gradient is
# {glue:text}`step` on average. For a head of BERT-base with random weights, the cosine would be {glue:text}`bert` (see the
# [proof and check](implicit_gradient.py#the-step-on-both-factors-drops-part-of-the-gradient)).
#
# ## Updates are symmetric if two tokens help each other equally
#
# A masked language model learns to predict either word of a pair from the other. In the sentence *the dog met my old cat*,
# for example, it predicts *dog* with the help of *cat*, and it predicts *cat* with the help of *dog*. Together, these two
# predictions add the matrix $\beta_{ij}\, x_i x_j^\top + \beta_{ji}\, x_j x_i^\top$ to the gradient. This matrix is
# symmetric if $\beta_{ij} = \beta_{ji}$, and it is skew-symmetric if $\beta_{ij} = -\beta_{ji}$. Theorem 2.4 of the paper
# covers the first case ({prf:ref}`thm-s1-14`).
#
# The two coefficients do not have to be exactly equal. Suppose that the embeddings are orthogonal, and that *dog*
# contributes twice as much to predicting *cat* as *cat* contributes to predicting *dog*. Even then, the matrix that this
# pair adds to the gradient has a symmetry score of {glue:text}`half`. If the two contributions have opposite signs, however,
# the symmetry score of this matrix is {glue:text}`minus-half`. If the embeddings are orthonormal, we can prove that the
# symmetry score of the full update equals the correlation between $\beta_{ij}$ and $\beta_{ji}$
# ({prf:ref}`prop-s1-14-update`). The theorem therefore depends on this correlation. To see how symmetric updates accumulate,
# open {numref}`fig-painter`, choose the *bidirectional* objective with equal coefficients, and add the pairs of the example
# sentence one by one. Once all pairs have been added, the symmetry score of the sum is $s = 1$.
#
# ## In untrained models, two tokens do not help each other equally
#
# The authors do not derive this correlation. In Section S1.4.5 of the paper, the authors assume that "predicting one token
# from the other gives similar predictions". In an untrained model, there is no reason for such a correlation. The
# coefficient $\beta_{ij}$ depends on the error at position $i$ and on the value of token $j$, whereas $\beta_{ji}$ depends
# on the error at position $j$ and on the value of token $i$. If the value matrix is random, these two coefficients are
# unrelated. We measure the correlation for masked training and for bidirectional training, because each token of a pair is
# predicted from the other under these two objectives.

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
    remark="""The proof of the theorem relies on this assumption. For pairs of positions in a single layer, another page
    derives conditions under which the assumption is met at initialisation. For pairs of different tokens, the assumption
    is not met in untrained models that read random tokens.""",
)
def agreement_at_random_weights(d=32, n_tokens=32, n_models=30, seed=0):
    sizes = {"d": d, "n_tokens": n_tokens, "n_models": n_models, "seed": seed}
    bidirectional = random_gradients(Objective.BIDIRECTIONAL, **sizes)
    agreements = {
        "masked objective, one position at a time": [of_pairs(m.beta) for m in masked_in_turn(**sizes)],
        "bidirectional objective": [of_pairs(coefficients(g)) for g in bidirectional],
    }
    for name, rho in agreements.items():
        words = rf"correlation between $\beta_{{ij}}$ and $\beta_{{ji}}$ in untrained models ({name})"
        yield monte_carlo(f"upper bound of the {words}", rho, 0.1, "<")
        yield monte_carlo(f"lower bound of the {words}", rho, -0.1, ">")


show(agreement_at_random_weights(d, n_tokens, n_models, seed), unfolded=True)

# %% [markdown]
# A gradient can also be symmetric for [other
# reasons](symmetric_updates_details.py#gradients-can-be-symmetric-for-other-reasons). For example, all masked positions
# share one embedding. This alone is enough to give the gradient in masked training a positive symmetry score, even in models
# with random weights. Therefore, even if an update is symmetric, we cannot conclude that two tokens contribute equally to
# each other's prediction.
#
# ## During training
#
# {glue:md}`in-training:myst` We describe this experiment on the page [Why?](why.py), together with our other attempts to find the
# cause of the symmetry.
#
# ## Decoders also see both orders of a pair
#
# According to the paper, encoders and decoders differ because an encoder is trained on every pair of tokens in both orders,
# whereas a decoder is trained on every pair in only one order. For a single sequence, this is true. In a whole corpus,
# however, *dog* precedes *cat* in some texts and follows *cat* in others, so a decoder, too, is trained on both orders. Two
# [differences between encoders and
# decoders](symmetric_updates_details.py#over-a-corpus-tokens-lose-the-contrast-between-the-objectives-but-positions-keep-it)
# remain. First, a decoder sees each pair of *positions* in only one order. Second, a decoder always predicts the *next*
# token.
#
# ## Theorem 2.3: column dominance does not follow from the premises
#
# Theorem 2.3 of the paper states that predicting the next token produces more columns with a large norm than rows with a
# large norm, because most tokens serve as context more often than they are predicted. This conclusion does not follow from
# the premises of the theorem. If all tokens of a sequence are different and the coefficients are independent and identically
# distributed, the norms of the rows have the same distribution as the norms of the columns ({prf:ref}`prop-s1-12-law`). In
# trained decoders, columns may still dominate for reasons that the theorem does not capture. The details page [on column
# dominance](column_dominance_details.py) gives conditions under which columns do dominate, and the page [on
# directionality](directionality.py) describes our measurements.
#
# ## What it means for you
#
# - Do not take the symmetry of an encoder as confirmation of Theorem 2.4. First [find out which part of its query-key
#   matrices is symmetric](positions.py).
# - Do not use the gradient of $\Wqk$ to predict how $\Wqk$ will change. To see the actual change, record $\Wqk$ during training with
#   `attngeo train --picture-every`.
# - Before you attribute the symmetry of a matrix to symmetric updates, measure the correlation between $\beta_{ij}$ and
#   $\beta_{ji}$ in your model. Also keep in mind that symmetric updates do not change the skew-symmetric part of the initial
#   matrix ({prf:ref}`prop-2-4-frozen`). Such updates change only the symmetric part.
#
# Next: [Does an encoder with learned position embeddings need symmetry?](constraints.py)
