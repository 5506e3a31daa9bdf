"""The tensors of the attention of one layer, and how the form of the layer is read from them and written into them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, promote_types

from attngeo.bilinear.form import BilinearForm
from attngeo.checkpoints.architectures.entry import Layout, Matrix, Part, Positions
from attngeo.checkpoints.architectures.stacks import Config


@dataclass(frozen=True)
class LayerPlan:
    """The names and shapes of the tensors from which the form of one attention layer is computed."""

    part: Part
    layer: int  # number within the part
    causal: bool
    module: str  # name of the attention module in the file
    query: str  # tensor names, which are equal if one tensor contains both
    key: str
    value: str  # "" if the value or the output is missing or unknown
    output: str
    layout: Layout
    heads: int
    kv_heads: int
    d_head: int
    positions: Positions | None = None  # with the names of its tensors in the file, "" if they are missing
    norm: str = ""  # tensor with the gain of the preceding layer normalisation, "" if none is known
    norm_offset: int = 0  # number that is added to this gain
    beside: tuple[str, ...] = ()  # components of the logits that are not part of W_qk, as keys of `keys.BESIDE`
    head_numbers: tuple[int, ...] = ()  # original numbers of the heads left by pruning, () if none were pruned
    keys_of: int | None = None  # layer of the same part whose keys are used, None if this layer computes its own
    key_norm: str = ""  # the normalisation before these keys, "" if it is `norm`
    model_type: str = ""  # of the configuration that speaks of it
    remarks: tuple[str, ...] = ()  # sentences for readers of its scores
    place: int = 0  # the first number in the name of the module, which configurations use to count layers
    settings: Config | None = field(default=None, compare=False, repr=False)  # the configuration that speaks of it

    @property
    def numbers(self) -> tuple[int, ...]:
        """The original numbers of the heads, before pruning."""
        return self.head_numbers or tuple(range(self.heads))

    def names(self, matrix: Matrix) -> tuple[str, str]:
        """The names of the tensors with the left and the right factor of a matrix."""
        return (self.query, self.key) if matrix == "qk" else (self.output, self.value)

    def spans(self, matrix: Matrix = "qk") -> dict[str, tuple[int, int] | None]:
        """The tensors to read, each with the stored rows [start, stop) that are needed, or None for all rows."""
        spans: dict[str, tuple[int, int] | None] = dict.fromkeys(self.names(matrix))
        if self.layout.rows is not None and not self.layout.transposed:
            q, k, v = self.layout.rows(self.heads, self.kv_heads, self.d_head)
            spans[self.query] = (0, int(max(map(Tensor.max, (q, k) if matrix == "qk" else (v,)))) + 1)
        return spans

    def rows(self) -> tuple[Tensor | slice, ...]:
        """Rows of queries, keys and values in their tensors, stored (out, in)."""
        if self.layout.gated and self.layout.rows is None:
            queries = torch.arange(2 * self.heads * self.d_head).view(self.heads, 2, self.d_head)[:, 0].flatten()
            return queries, slice(None), slice(None)
        return self.layout.rows(self.heads, self.kv_heads, self.d_head) if self.layout.rows else (slice(None),) * 3

    def store(self, form: BilinearForm, tensors: Mapping[str, Tensor]) -> None:
        """Write a form into the whole tensors from which it is read."""
        for name, factor, where in zip(self.names("qk"), (form.wq, form.wk), self.rows(), strict=False):
            weight = tensors[name].T if self.layout.transposed else tensors[name]
            weight[where] = factor.mT.flatten(0, 1).to(weight.dtype)

    def form(self, tensors: Mapping[str, Tensor], matrix: Matrix = "qk") -> BilinearForm:
        """The form of the layer, from the tensors that `spans` lists."""
        left, right = (tensors[name].T if self.layout.transposed else tensors[name] for name in self.names(matrix))
        q, k, v = self.rows()
        left, right = (left[q], right[k]) if matrix == "qk" else (left, right[v])
        dtype = promote_types(left.dtype, right.dtype)
        left = left if matrix == "qk" else left.T  # the output map has the heads as inputs and d outputs
        return BilinearForm.from_linear(left.to(dtype), right.to(dtype), self.d_head)
