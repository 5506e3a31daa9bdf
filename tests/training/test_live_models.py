import pytest
import torch
import transformers as tf
from attention_cases import CASES
from small_models import small_model

from attngeo import initialise, open_model, score_heads
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Attention
from attngeo.errors import ParameterError
from attngeo.initialisations import InitialisationError

TIED = {"symmetric": 1, "symmetric-indefinite": 1, "skew": -1}


def stored(case) -> frozenset:
    """How queries and keys are stored, and so written back; that each type is read so is the oracle's to say."""
    stacks = [stack for stack in ARCHITECTURES[case.model_type] if isinstance(stack, Attention)]
    return frozenset((stack.part, stack.layout, bool(stack.kv_heads), bool(stack.in_memory)) for stack in stacks)


WAYS = {stored(case): case for case in reversed(CASES) if {part for part, *_ in stored(case)} != {"cross"}}


def heads(model, config=None) -> torch.Tensor:
    return torch.cat([score_heads(layer.form).symmetry for layer in open_model(model, config) if layer.part != "cross"])


@pytest.mark.parametrize("case", WAYS.values(), ids=lambda case: case.id)
def test_every_head_of_every_self_attention_becomes_symmetric(case):
    torch.manual_seed(0)
    model = (case.build or small_model(case.model_type))()
    config = dict(model.config.to_dict(), model_type=case.model_type)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    layers = list(open_model(model, config))
    parts = [None] if all(layer.part != "cross" for layer in layers) else ["encoder", "decoder"]
    for part in parts:
        if part is None or part in {layer.part for layer in layers}:
            initialise(model, "symmetric", part=part, config=config)
    torch.testing.assert_close(heads(model, config), torch.ones_like(heads(model, config)), rtol=0, atol=1e-6)
    written = {weight for plan in open_model(model, config).plans if plan.part != "cross" for weight in plan.spans()}
    changed = {name for name, weight in model.state_dict().items() if not torch.equal(weight, before[name])}
    assert changed and changed <= written


LLAMAS = {"grouped": {}, "one key head": {"num_key_value_heads": 1}, "wide heads": {"head_dim": 10}}


@pytest.mark.parametrize("changes", LLAMAS.values(), ids=LLAMAS)
@pytest.mark.parametrize("name, symmetry", TIED.items())
def test_grouped_keys_are_tied_to_each_of_their_queries(name, symmetry, changes):
    torch.manual_seed(0)
    model = small_model("llama", **changes)()
    initialise(model, name)
    assert heads(model).tolist() == pytest.approx([symmetry] * 8, abs=1e-6)
    for layer in open_model(model):
        assert float(layer.form.wq.std()) == pytest.approx(0.02, rel=0.2)
        assert float(layer.form.wk.std()) == pytest.approx(0.02, rel=0.2)
        equal = torch.equal(layer.form.wq[0], layer.form.wq[1])
        assert equal == (name == "symmetric")


@pytest.mark.parametrize("model_type", ["gpt2", "gpt_neox", "bloom", "codegen", "modernbert"])
def test_values_in_the_same_tensor_stay_as_they_are(model_type):
    torch.manual_seed(0)
    model = small_model(model_type)()
    plan = open_model(model).plans[0]
    before = model.state_dict()[plan.query].clone()
    initialise(model, "skew")
    _, k, _ = plan.layout.rows(plan.heads, plan.kv_heads, plan.d_head)
    before, after = (w.T if plan.layout.transposed else w for w in (before, model.state_dict()[plan.query]))
    others = sorted(set(range(len(after))) - set(k.tolist()))
    assert torch.equal(before[others], after[others]) and not torch.equal(before[k], after[k])


def test_a_model_in_16_bits_is_as_symmetric_as_its_numbers_allow():
    model = small_model("llama")().to(torch.bfloat16)
    initialise(model, "symmetric")
    assert heads(model).tolist() == pytest.approx([1] * 8, abs=1e-6)
    initialise(model, "skew")
    assert heads(model).tolist() == pytest.approx([-1] * 8, abs=1e-3)


def zero_queries(model):
    torch.nn.init.zeros_(model.encoder.layer[1].attention.self.query.weight)


REFUSED = {
    "cross-attention": ("t5", None, {}, ParameterError, "cross-attention"),
    "a part that is not there": ("gpt2", None, {"part": "encoder"}, ParameterError, "decoder"),
    "an initialisation of BERT alone": ("bert", None, {"initialisation": "mimetic"}, ParameterError, "skew"),
    "queries of zero": ("bert", zero_queries, {}, InitialisationError, "layer.1.* 0 "),
    "8 bits": ("bert", lambda m: m.to(torch.float8_e4m3fn), {}, ParameterError, "8 bits.* wider type"),
}


@pytest.mark.parametrize("model_type, spoil, options, error, named", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_tied_ends_in_one_sentence(model_type, spoil, options, error, named, as_user):
    model = small_model(model_type, tf.BertModel if model_type == "bert" else None)()
    if spoil:
        spoil(model)
    with pytest.raises(error, match=rf"(?s){named}.*\.$"):
        initialise(model, **{"initialisation": "symmetric"} | options)
