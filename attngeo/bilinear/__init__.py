"""The query-key matrix W_qk, represented by its factors: both scores, their values for random weights, and pictures.

The modules of this package do not depend on where the weights come from, and need only torch and numpy. This file
imports nothing, so that the command line can list the conventions without torch.
"""
