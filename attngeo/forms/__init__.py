"""The query-key matrix: W_qk by its factors, the sums both scores need, both scores, their random values, a picture.

Nothing here knows where weights come from. Only torch and numpy are needed.
"""

from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import Scores, directionality_score, score, score_heads, symmetry_score

__all__ = ["BilinearForm", "Scores", "directionality_score", "score", "score_heads", "symmetry_score"]
