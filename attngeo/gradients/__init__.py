"""What a sequence does to W_qk in one step: objectives, rank-1 terms, random updates, norms.

`toy_transformer` is the reference: small enough that autograd gives the derivative that a formula states.
"""
