"""From a file or a Hub repository to forms: which tensors are queries and keys, and only their bytes read.

`architectures` knows the names of each model type, `repositories` and `hub` find the files, `tensorfiles` reads single
tensors out of their bytes (`byte_sources`, `ranges`), `layers` makes a form of each layer. No model code is run,
nothing is unpickled.
"""

from attngeo.checkpoints.layers import AttentionLayer, open_checkpoint

__all__ = ["AttentionLayer", "open_checkpoint"]
