"""What the page on encoders and decoders says in sentences that depend on which models are compared."""

from collections.abc import Sequence

import pandas as pd

from attngeo.experiments.runs.numbers_in_words import as_percent, joined_by_and, number, share_of, spelled
from attngeo.experiments.survey.families import compared, of_families
from chapters.pretrained_survey.choices import TEXT_ALONE, choices
from chapters.pretrained_survey.measures import MODALITIES, families_of_modality, halves, of_modality
from chapters.pretrained_survey.parameters import recorded_parameters
from chapters.pretrained_survey.sizes import (
    CLASSES,
    EQUAL,
    of_equal_size,
    pairs_of,
    rank_correlation,
    with_learned_positions,
)
from chapters.pretrained_survey.tables import decoder_families, families_won

FALLS = -0.5  # a rank correlation of s with size below which we say that s falls with size
ONE_LAYER = {"TinyStories-1Layer-21M": "which has a single layer"}
WHOLE_NAMES = {"iGPT": "ImageGPT"}  # of families with a short name in the registry


def is_decided(results: pd.DataFrame) -> bool:
    """Whether both intervals of the AUC of released language models lie above one half."""
    found = of_modality("text", "s", results)
    return found.low > 0.5 and found.family_low > 0.5


def exceptions(released: pd.DataFrame) -> str:
    """Which pairs of released language models have the more symmetric decoder."""
    lost = pairs_of(released).query("difference <= 0")
    if lost.empty:
        return "The encoder has the higher score in every pair."
    encoders, decoders = (list(dict.fromkeys(lost[f"model of {part}"])) for part in ("encoder", "decoder"))
    if len(decoders) > 1:
        several = [f"{row[0]} against {row[1]}" for row in lost[["model of encoder", "model of decoder"]].to_numpy()]
        return f"The decoder has the higher score in only {len(lost)} pairs: {joined_by_and(several)}."
    note = f", {ONE_LAYER[decoders[0]]}," if decoders[0] in ONE_LAYER else ""
    if len(encoders) == 1:
        return f"The decoder has the higher score in only one pair, {encoders[0]} against {decoders[0]}."
    return f"""The decoder has the higher score in only {len(lost)} pairs. In these pairs, the decoder is
        {decoders[0]}{note} and the encoders are {joined_by_and(encoders)}."""


def by_size(released: pd.DataFrame) -> str:
    """Whether the symmetry of released encoders falls with their size, if the type of positional encoding is the same."""
    encoders = with_learned_positions(released)
    small, large = encoders.loc[encoders["parameters"].idxmin()], encoders.loc[encoders["parameters"].idxmax()]
    ends = f"""{small["model"]} with {_millions(small["parameters"])} parameters scores {number(small["s"], 2)}, whereas
        {large["model"]} with {_millions(large["parameters"])} parameters scores {number(large["s"], 2)}"""
    among = f"Among the {len(encoders)} encoders with learned position embeddings,"
    if rank_correlation(encoders, "encoder") < FALLS:
        return f"{among} smaller models are more symmetric. For example, {ends}."
    return f"{among} there is no clear relation between symmetry and size. For example, {ends}."


def _millions(parameters: float) -> str:
    return f"{parameters / 1e9:.1f} billion" if parameters >= 1e9 else f"{parameters / 1e6:.0f} million"


def of_equal_size_in_short(released: pd.DataFrame) -> str:
    """The same comparison between models of a similar size, as the top of the page says it."""
    gaps = of_equal_size(released)["difference"]
    if gaps.empty:
        return "No released encoder and decoder have a similar number of parameters."
    won = int((gaps > 0).sum())
    found = f"all {won}" if won == len(gaps) else f"{won} of the {len(gaps)}"
    return f"In {found} pairs whose sizes differ by at most a factor of {spelled(EQUAL)}, the encoder has the higher score."


def equal_size(released: pd.DataFrame, read: pd.DataFrame) -> str:
    """In how many pairs of a similar size the encoder has the higher score, for both sources of scores."""
    said = []
    for words, models in (("released models", released), ("language models that we scored ourselves", read)):
        gaps = of_equal_size(models)["difference"]
        if len(gaps):
            said.append(f"{share_of(int((gaps > 0).sum()), len(gaps))} such pairs of {words}")
    if not said:
        return "There are no such pairs."
    return f"The encoder has the higher symmetry score in {joined_by_and(said)}."


def falls_with_size(released: pd.DataFrame) -> str:
    """The relation of symmetry and size in released encoders and decoders, and what follows for their difference."""
    rho = {part: rank_correlation(released, part) for part in ("encoder", "decoder")}
    count, learned = released.groupby("part").size(), with_learned_positions(released)
    first = "falls with" if rho["encoder"] < FALLS else "has no clear relation to"
    said = f"""Among the released language encoders, the symmetry score {first} the number of parameters. Spearman's rank
        correlation between symmetry and size is {number(rho["encoder"], 2, "+")} for all {count["encoder"]} encoders and
        {number(rank_correlation(learned, "encoder"), 2, "+")} for the {len(learned)} encoders with learned position
        embeddings. We give no p-value, because models of one family are not independent. For the {count["decoder"]}
        released decoders, the rank correlation between symmetry and size is {number(rho["decoder"], 2, "+")}."""
    if rho["encoder"] < FALLS and rho["decoder"] > FALLS:
        return f"{said} The difference between encoders and decoders is therefore larger for small models than for large models."
    return said


def largest_encoder(released: pd.DataFrame) -> str:
    """That the largest encoders of the table by size are a single one, if they are."""
    (name, (least, _)) = list(CLASSES.items())[-1]
    large = released[(released["part"] == "encoder") & (released["parameters"] >= least)]
    if len(large) != 1:
        return ""
    (only,) = large.itertuples()
    relative = ", which has relative position embeddings" if only.positions.startswith("relative") else ""
    return f"In the row “{name}”, the only encoder is {only.model}{relative}."


def inside_encoder_decoder_models(halves_of: pd.DataFrame) -> str:
    """How the score of the encoders inside encoder-decoder models depends on size, in the family with most models."""
    if halves_of.empty:
        return ""
    encoders = halves_of[halves_of["part"] == "encoder"].sort_values("parameters")
    family = encoders["family"].value_counts().idxmax()
    own = encoders[encoders["family"] == family]
    rho = number(rank_correlation(own, "encoder"), 2, "+")
    if float(own["s"].iloc[-1]) <= float(own["s"].iloc[0]):
        return f"In the encoders of the {len(own)} {family} models, the symmetry score does not grow with size, either."
    return f"""The encoders of the {family} family do not follow this pattern. In the {len(own)} models of this family, the symmetry score of the encoder increases with the number of parameters, from
        {number(own["s"].iloc[0], 2)} in {own["model"].iloc[0]} to {number(own["s"].iloc[-1], 2)} in
        {own["model"].iloc[-1]} (rank correlation {rho}). Size alone therefore does not explain the symmetry."""


def other_modalities(results: pd.DataFrame) -> str:
    """Why the comparison decides nothing in vision and in audio."""
    alone = {
        words: decoder_families(results, modality) for words, modality in MODALITIES.items() if words != "language"
    }
    single = {words: families[0] for words, families in alone.items() if len(families) == 1}
    if not single:
        return ""
    named = [
        f"In {words}, all released decoders belong to the {WHOLE_NAMES.get(family, family)} family."
        for words, family in single.items()
    ]
    return " ".join(
        [
            *named,
            "With a single family in one of the groups, these comparisons can neither confirm nor refute the claim.",
        ]
    )


def reversed_halves(results: pd.DataFrame) -> str:
    """The encoder-decoder models whose decoder is the more symmetric half."""
    lost = halves("s", results).query("difference <= 0")
    if lost.empty:
        return ""
    named = [
        f"{row.Index}, where the encoder scores {number(row.encoder, 2)} and the decoder scores {number(row.decoder, 2)}"
        for row in lost.itertuples()
    ]
    return f"Among the encoder-decoder models, the decoder has the higher score only in {joined_by_and(named)}."


def which_read_text(stacks: pd.DataFrame) -> str:
    """How the modalities of the families that we read differ between encoders and decoders."""
    families = stacks[stacks["attention"].isin(["bidirectional", "causal"])].drop_duplicates(["family", "attention"])
    text = (families["modality"] == "text").groupby(families["attention"])
    readers, count = text.sum(), text.size()
    encoders, decoders = count["bidirectional"], count["causal"]
    others = encoders - readers["bidirectional"]
    return f"""However, {others} of the {encoders} families of encoders do not process text, whereas {readers["causal"]} of
        the {decoders} families of decoders do."""


def of_text_alone(stacks: pd.DataFrame) -> str:
    """The comparison of the language models that we read, and whether it decides."""
    chosen = of_families(choices(stacks)[TEXT_ALONE])
    won, pairs = families_won(choices(stacks)[TEXT_ALONE])
    said = f"""Among the language models that we scored ourselves, the encoder has the higher score in
        {share_of(won, pairs)} pairs of an encoder family and a decoder family ({as_percent(won / pairs)})"""
    if compared(chosen, "symmetry").side == 1:
        return f"{said}, which is more than expected by chance."
    return f"""{said}, but with so few families, this result could be due to chance. A *family* is a group of models
        that share authors, data or a training recipe."""


def reverse_of_the_rule(stacks: pd.DataFrame) -> str:
    """The families whose encoder loses pairs, and what is known about them."""
    families = of_families(stacks, ["symmetry"])
    decoders = families[families["attention"] == "causal"]["symmetry"]
    losing = families[(families["attention"] == "bidirectional") & (families["symmetry"] <= decoders.max())]
    if losing.empty:
        return "The encoder has the higher score in every pair of families."
    names = list(losing["family"])
    if names != ["BART g2p"]:
        return f"""In all pairs in which the decoder has the higher score, the encoder belongs to
            {joined_by_and(names)}."""
    score = {part: number(_of(stacks, "BART g2p", part), 2) for part in ("encoder", "decoder")}
    return f"""In all pairs in which the decoder has the higher score, the encoder belongs to BART g2p, a small model that
        converts the spelling of a word to its pronunciation. The encoder and the decoder of BART g2p have one layer each, and
        each layer has one head. The encoder scores {score["encoder"]}, and the decoder scores {score["decoder"]}. We do not
        know why this model is different."""


def _of(stacks: pd.DataFrame, family: str, part: str) -> float:
    own: Sequence[float] = stacks[(stacks["family"] == family) & (stacks["part"] == part)]["symmetry"].tolist()
    return float(own[0])


def of_unknown_size(stacks: pd.DataFrame) -> list[str]:
    """The language models that we scored and that stand in no comparison by size."""
    text = stacks[(stacks["modality"] == "text") & stacks["part"].isin(["encoder", "decoder"])]
    missing: list[str] = text[~text["model"].isin(recorded_parameters())]["model"].unique().tolist()
    return missing


def left_out(missing: Sequence[str]) -> str:
    """A sentence on the models of unknown size; "" without any."""
    if not missing:
        return ""
    verb, size = ("is", "its size") if len(missing) == 1 else ("are", "their sizes")
    return f"{joined_by_and(list(missing))} {verb} left out, because {size} {verb} not known."


def of_families_alone(results: pd.DataFrame) -> str:
    """In how many pairs of released families, each of which counts once, the encoder has the higher score."""
    found = families_of_modality("text", "s", results).separation
    pairs = found.n_first * found.n_second
    return share_of(round(found.auc * pairs), pairs)


def heads_against_sum(of_families_here: pd.DataFrame) -> str:
    """What heads and their sum score in the median family of encoders and of decoders."""
    middle = of_families_here.groupby("attention")[["heads", "symmetry"]].median()
    (e_heads, e_sum), (d_heads, d_sum) = (tuple(middle.loc[kind]) for kind in ("bidirectional", "causal"))
    said = f"""In the median encoder family, individual heads score {e_heads:.2f}, and the sum over heads scores {e_sum:.2f}.
        In the median decoder family, individual heads score {d_heads:.2f}, and the sum over heads scores {d_sum:.2f}."""
    if e_heads > d_heads and e_sum - e_heads > d_sum - d_heads:
        return f"""In encoders, the individual heads are slightly symmetric, and the sum over the heads is more symmetric.
            {said}"""
    return said
