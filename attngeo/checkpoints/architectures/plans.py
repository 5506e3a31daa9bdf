"""The tensors of one layer's attention, and how its form is read from them and written into them."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, promote_types

from attngeo.bilinear.form import BilinearForm
from attngeo.checkpoints.architectures.entry import Layout, Part, Positions


@dataclass(frozen=True)
class LayerPlan:
    """The tensors of one layer's attention, and how its form follows from them."""

    part: Part
    layer: int  # counted within the part
    causal: bool
    module: str  # name of the attention module in the file
    query: str  # tensor names; the same where one tensor holds both
    key: str
    layout: Layout
    heads: int
    kv_heads: int
    d_head: int
    positions: Positions | None = None  # with the names of its tensors in the file, "" where they are not there
    norm: str = ""  # tensor with the gain of the layer normalisation before, "" where none is known
    norm_offset: int = 0  # to be added to it

    def spans(self) -> dict[str, tuple[int, int] | None]:
        """Tensors to read, each with the stored rows [start, stop) that matter; None means all of it."""
        if self.layout.rows is None:
            return {self.query: None, self.key: None}
        if self.layout.transposed:
            return {self.query: None}
        q, k = self.layout.rows(self.heads, self.kv_heads, self.d_head)
        return {self.query: (0, int(max(q.max(), k.max())) + 1)}

    def store(self, form: BilinearForm, tensors: Mapping[str, Tensor]) -> None:
        """Write a form into the tensors, whole ones, that it is read from."""
        rows = (None, None) if self.layout.rows is None else self.layout.rows(self.heads, self.kv_heads, self.d_head)
        for name, factor, where in zip((self.query, self.key), (form.wq, form.wk), rows, strict=True):
            weight = tensors[name].T if self.layout.transposed else tensors[name]
            weight[slice(None) if where is None else where] = factor.mT.flatten(0, 1).to(weight.dtype)

    def form(self, tensors: Mapping[str, Tensor]) -> BilinearForm:
        """The layer's form, from the tensors that `spans` asked for."""
        query, key = tensors[self.query], tensors[self.key]
        if self.layout.transposed:
            query, key = query.T, key.T
        if self.layout.rows is not None:
            q, k = self.layout.rows(self.heads, self.kv_heads, self.d_head)
            query, key = query[q], key[k]
        dtype = promote_types(query.dtype, key.dtype)
        return BilinearForm.from_linear(query.to(dtype), key.to(dtype), self.d_head)
