"""Which formula a score follows, and the threshold of the directionality score; known without torch."""

from attngeo.errors import Choice

GAMMA = 2.0  # gamma of Def. 3.2; the paper does not state its value, its released code uses 2


class Convention(Choice):
    """Which formula a score follows. The paper's text, its released code and its tables differ; use the first."""

    DEFINITION = "definition"  # s in [-1, 1] (Prop. S1.17); d of Def. 3.2 as printed
    PRINTED = "printed"  # Def. 3.1 with its factor 2: s in [-2, 2]; d as in the definition
    RELEASED = "released"  # the released code: s = ||M_s||^2 / ||M||^2 in [0, 1]; d of the excess over the threshold
    TABLES = "tables"  # behind Table S3: d of the excess of the norms' logarithms; s as in the definition
