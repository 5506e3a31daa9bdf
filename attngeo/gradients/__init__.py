"""How one training step on a sequence changes W_qk: objectives, rank-1 terms, random updates and their norms.

`toy_transformer` is the reference: a model small enough for automatic differentiation to check every formula.
"""
