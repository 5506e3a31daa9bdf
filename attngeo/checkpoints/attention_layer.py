"""One attention layer of a model: its query-key form, and where the form was read."""

from dataclasses import dataclass

from attngeo.bilinear.form import BilinearForm
from attngeo.checkpoints.architectures.entry import Matrix, Part


@dataclass(frozen=True, eq=False)
class AttentionLayer:
    """The query-key form of one attention layer, and the place from which it was read.

    Args:
        part: "encoder", "decoder" or "cross" (attention from a decoder to an encoder).
        layer: number of the layer within its part, counted from 0.
        form: the factors of ``W_qk``, or of ``W_o W_v^T`` if ``matrix`` is "ov".
        causal: whether tokens attend only to themselves and to earlier tokens.
        module: name of the attention module in the file.
        file: name of the file that contains the query weight.
        norm: name of the tensor with the gains of the preceding layer normalisation if these gains are folded into the
            form, otherwise "".
        matrix: the matrix that the form represents, "qk" or "ov".
        read_as: model type that was passed to `open_checkpoint`, or "" if the checkpoint is read as the type in its
            config.
        head_numbers: original numbers of the remaining heads if heads were pruned, otherwise ().
        distance: position of the key minus the position of the query, or None if the form contains no rotation.
        qk_norms: names of the tensors with the gains of the query and key norms if these gains are folded into the
            form.
        reweighted: whether coordinates were multiplied by unequal numbers, such as gains. If this value is true, the
            scores of random weights are unknown.
    """

    part: Part
    layer: int
    form: BilinearForm
    causal: bool = False
    module: str = ""
    file: str = ""
    norm: str = ""
    matrix: Matrix = "qk"
    read_as: str = ""
    head_numbers: tuple[int, ...] = ()
    distance: int | None = None
    qk_norms: tuple[str, ...] = ()
    reweighted: bool = False
