"""Writes the keys of configurations that the reader knows, from the pinned transformers.

    python tests/checkpoints/make_keys.py

``attngeo/checkpoints/architectures/keys.json`` then holds two things. ``attention`` has every key whose name says that
it may concern attention, with the model types that have it and its default there. The sweep of configuration keys
(sweep_keys.py) changes these keys one at a time. ``other`` has the names of all other keys, by the model types that
have them. A key of more than ten model types, and one that any configuration may have, stands there for all types, so
that the file stays small.

``beside.json`` beside it then tells what models of each type have in their attention modules, as the names of their
tensors show it, and which configuration keys decide whether their queries have biases.
"""

import inspect
import json
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.append(str(Path(__file__).parents[1]))

import torch
from attention_cases import PARTICULAR, READ
from small_models import small_model
from transformers import CONFIG_MAPPING, GenerationConfig, PretrainedConfig
from transformers.initialization import no_init_weights

from attngeo.checkpoints.architectures import ARCHITECTURES, keys
from attngeo.checkpoints.architectures.entry import Refused
from attngeo.checkpoints.architectures.locate import locate
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.derived import by_plain_names
from attngeo.checkpoints.models import Weights

KEYS = Path(__file__).parents[2] / "attngeo" / "checkpoints" / "architectures" / "keys.json"
# keys whose names say that they concern other things than attention, or sizes that the weights must fit
OTHER = re.compile(
    r"vocab|dropout|drop_path|_token_id|token_ids?$|initializer|_init|^init|eps$|epsilon|hidden_act|activation|loss"
    r"|label|dtype|expert|moe|router|mlp|ffn|intermediate|mamba|conv|mel|sampling|spectrogram|codebook|config$|_kernel"
    r"|stride|padding|image_size|patch_size|channels|ssm|upsample|downsample|output_|return_|id2|problem_type"
    r"|architectures|chunk_size_feed|use_cache|tie_|_prob$|classif|summary|mask_time|mask_feature|ctc|tdnn|xvector"
    r"|num_queries|topk|top_k|duration|vae|vq|timestep|pooler|pooling|feat_|feature|decoder_start|forced_|num_labels"
    r"|reduction|cost|coefficient|weight_|matcher|query_dim|linear_|lora|pdrop|tokens?$|beam|early|length_penalty"
    r"|transformers_version|is_encoder_decoder|model_type|num_frames|fpn|neck|head_hidden|_name_or_path|codevec|spectr"
    r"|token_index|layerdrop|depths?$|blocks?$|(hidden|embed\w*|fusion|projector|input|crop|projection|vector)_sizes?$"
    r"|^num_(hidden_)?layers|_layers$|n_layers?$|hidden_dim|d_model|embed_dim|emb_dim|embedding_dim|n_embd|^d_ff$|n_inner"
    r"|out_indices|stage_names|^num_filters|resblock|dilation|quantiz|vocoder|speaker|spkr|index_name|dataset|retrieval"
    r"|passages|generator|wavenet|flow_size|attractor|bin_|fov|pitch|energy|lang|spec_augment|num_negatives|proj_code"
    r"|readout|reassemble|sinkhorn|column|cell|dice|mask_weight|no_object|class_weight|train_num_points|sample_ratio"
)
ATTENTION = re.compile(  # what the names of keys that concern attention have in them
    r"attention|attn|heads?$|heads?_|qk|query|key|kv|rope|rotary|posit|pos_|alibi|bias|sliding|window|causal|directional"
    r"|is_decoder|is_encoder|clip|softcap|soft_cap|logit_scale|layer_types|block_type|chunk|relative|talking|^asm$"
    r"|local|global|multi_query|num_groups|gating|scaling|temperature_tuning|floor_scale|multiplier|cross|index"
    r"|prefix_lm|legacy|norm|context|look_|lookahead|streaming|sr_ratios|qv_|architecture|hybrid|ratio$|d_kv|v_head|span"
)
BESIDE = KEYS.with_name("beside.json")
COMMON = 10  # a key of more model types than these is passed over for all types
OF_TENSORS = ("biases", "norms", "relative", "sinks")  # words of `keys.BESIDE` that tensors of a module may show
BIAS_KEYS = {  # which may decide whether the queries of a model type have biases
    *("attention_bias", "bias", "enable_bias", "query_bias", "qkv_bias", "qv_bias", "use_attention_bias", "use_bias"),
    "use_qkv_bias",
}
# is_causal and pruned_heads, which any configuration may have and the reader follows; and keys that older versions of
# transformers, other libraries or the Hub wrote, or that its code sets or reads where no configuration class has them
OLD = """
_attn_implementation _commit_hash _flash_attn_2_enabled _num_labels add_final_layer_norm attn_implementation auto_map
bias_dropout_fusion classif_dropout compression_config directionality do_sample down_scale_factor early_stopping
eos_token_ids extra_pos_embeddings feat_proj_layer_norm finetuning_task flash_attn force_bos_token_to_be_generated
forced_decoder_ids freeze_feat_extract_train gap_size global_attn_every_n_layers gradient_checkpointing
inference_runner is_causal language mask_channel_length mask_channel_selection masked_softmax_fusion max_batch_size
max_sequence_length mlp_type model_name model_parallel n_ctx n_embed n_special name name_or_path net_structure_type
norm_type normalize_before normalize_embedding num_image_tokens num_labels num_memory_blocks offset_alibi output_past
output_scores pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type
predict_special_tokens prefix pruned_heads quantization_config seq_length shared_expert_intermediate_size skip_bias_add
sliding_window_size static_position_embeddings summary_activation summary_first_dropout summary_last_dropout
summary_proj_to_labels summary_type summary_use_proj task_specific_params tie_weights_ tokenizer_class torch_dtype
torchscript transformers.js_config unk_token_id unsloth_fixed unsloth_version use_flash_attn use_mems_eval
validate_runner_input vq_weight_proj xla_device
""".split()


def main() -> None:
    """Write the files."""
    KEYS.write_text(text())
    nothing = {word: {} for word in (*OF_TENSORS, "gains", "keys")}
    with mock.patch.object(keys, "_of_types", return_value=nothing):  # found without the help of the file
        BESIDE.write_text(text_of_modules())


def text() -> str:
    """What the file must hold: a line for each key."""
    attention, other = known_keys()
    lines = [f"  {json.dumps(key)}: {json.dumps(groups)}" for key, groups in sorted(attention.items())]
    names = [f"  {json.dumps(types)}: {json.dumps(' '.join(names))}" for types, names in sorted(other.items())]
    return '{"attention": {\n' + ",\n".join(lines) + '\n},\n"other": {\n' + ",\n".join(names) + "\n}}\n"


def known_keys() -> tuple[dict[str, list], dict[str, list[str]]]:
    """For each key of attention its defaults, each with the model types that have it; and the other keys by types."""
    defaults: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    of_any = {*OLD, *GenerationConfig().to_dict(), *vars(PretrainedConfig())}
    owners: dict[str, list[str]] = {key: [] for key in sorted(of_any)}
    for model_type, config in sorted(default_configs().items()):
        for key, value in config.items():
            if is_of_attention(key):
                defaults[key][json.dumps(plain(value))].append(model_type)
            else:
                owners.setdefault(key, []).append(model_type)
    attention = {
        key: [[json.loads(value), " ".join(types)] for value, types in sorted(groups.items())]
        for key, groups in defaults.items()
    }
    other: dict[str, list[str]] = defaultdict(list)
    for key, types in sorted(owners.items()):
        if key not in attention:
            other["" if key in of_any or len(types) > COMMON else " ".join(types)].append(key)
    return attention, other


def is_of_attention(key: str) -> bool:
    """Whether the name of a key says that it may concern attention."""
    return bool(ATTENTION.search(key)) and not OTHER.search(key)


def plain(value: Any) -> Any:
    """A default as the file holds it: lists and mappings, which depend on other keys, are left out."""
    return value if value is None or isinstance(value, bool | int | float | str) else "..."


def text_of_modules() -> str:
    """What the file of the models' attention modules must hold: a line for each word and part."""
    seen: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    apart: list[LayerPlan] = []  # of towers that have no model of their own
    own: set[tuple[str, str]] = set()
    for model_type in sorted(READ & set(CONFIG_MAPPING)):
        plans = plans_of_small_model(model_type)
        own |= {(model_type, plan.part) for plan in plans if plan.model_type == model_type}
        apart += [plan for plan in plans if plan.model_type not in ("", model_type)]
        for plan in plans:
            if plan.model_type == model_type:
                for word in words_of(plan):
                    seen[word][plan.part].add(model_type)
        for key in BIAS_KEYS & set(default_configs().get(model_type, {})):
            without, with_biases = (plans_of_small_model(model_type, **{key: value}) for value in (False, True))
            if has_biases(with_biases) and not has_biases(without):
                seen["keys"][key].add(model_type)
    for plan in apart:
        if (plan.model_type, plan.part) not in own:
            for word in words_of(plan):
                seen[word][plan.part].add(plan.model_type)
    ordered = {
        word: {part: " ".join(sorted(types)) for part, types in sorted(by_part.items())}
        for word, by_part in sorted(seen.items())
    }
    return json.dumps(ordered, indent=1) + "\n"


def words_of(plan: LayerPlan) -> set[str]:
    """What the tensors of an attention module show, by the words of `keys.BESIDE`."""
    return {word for word in plan.beside if word in OF_TENSORS} | ({"gains"} if plan.norm else set())


def has_biases(plans: list[LayerPlan]) -> bool:
    """Whether some queries have biases."""
    return any("biases" in plan.beside for plan in plans)


def plans_of_small_model(model_type: str, **changes) -> list[LayerPlan]:
    """The attention layers of a small model that holds no numbers; none where a type has no model, or not with that."""
    case = next((case for case in PARTICULAR if case.id == model_type), None)
    try:
        with no_init_weights(), torch.device("meta"):
            model = small_model(model_type, **changes)() if changes or not (case and case.build) else case.build()
    except Exception:  # whatever a value that is not legal raises
        return []
    weights = Weights(model_type, model.state_dict())
    files, _ = by_plain_names(dict.fromkeys(weights.shapes, weights))
    shapes = {name: file.shapes[name] for name, file in files.items()}
    return locate(ARCHITECTURES, {**model.config.to_dict(), "model_type": model_type}, shapes)


@cache
def default_configs() -> dict[str, dict[str, Any]]:
    """The default configuration of each model type but those refused, with the keys that its code alone knows."""
    configs = {}
    for model_type, kind in CONFIG_MAPPING.items():
        registered_elsewhere = not kind.__module__.startswith("transformers.")
        if registered_elsewhere or isinstance(ARCHITECTURES.get(model_type), Refused):
            continue
        try:
            config = json.loads(kind().to_json_string(use_diff=False))
        except Exception:  # a model of several has no default configuration, and some defaults are not valid
            config = dict.fromkeys(getattr(kind, "__dataclass_fields__", {}))
        config |= {key: None for key in read_by_getattr(model_type) if key not in config}
        config |= {key: config.get(name) for key, name in kind.attribute_map.items() if key not in config}
        configs[model_type] = config
    return configs


@cache
def source(model_type: str) -> str:
    """The code of a model type and of its configuration."""
    folder = Path(inspect.getmodule(CONFIG_MAPPING[model_type]).__file__).parent
    files = [path for path in sorted(folder.glob("*.py")) if path.name.startswith(("modeling", "config"))]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def read_by_getattr(model_type: str) -> set[str]:
    """Keys that the code of a model type reads by ``getattr``, and so also where its configuration class has none."""
    return set(re.findall(r"getattr\(\s*[\w.]*config,\s*\"(\w+)\",", source(model_type)))


if __name__ == "__main__":
    sys.exit(main())
