"""From a file or a Hub repository to forms: which tensors are queries and keys, and only their bytes read.

`architectures` knows the names of each model type, `repositories` and `hub` find the files, `tensorfiles` reads single
tensors out of their bytes, `quantised` and `gguf_files` those of few bits. `opening` finds the configuration of a
model, `checkpoint` makes a form of each layer, and `models` does so for a model in memory. `rows` and `tables` score
the layers. No model code is run, nothing is unpickled.
"""

from attngeo.checkpoints.architectures import Attention, Tower, register_architecture
from attngeo.checkpoints.attention_layer import AttentionLayer
from attngeo.checkpoints.models import open_model
from attngeo.checkpoints.opening import open_checkpoint

__all__ = ["Attention", "AttentionLayer", "Tower", "open_checkpoint", "open_model", "register_architecture"]
