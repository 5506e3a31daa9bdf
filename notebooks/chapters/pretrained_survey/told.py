"""What the page on encoders and decoders says in sentences that depend on which models are compared.

Where a sentence is the same whichever families a reader leaves out, the assertions are what it takes for granted.
"""

import pandas as pd

from attngeo.experiments.runs.numbers_in_words import as_percent, joined_by_and, number, share_of, spelled
from attngeo.experiments.survey.families import compared, of_families
from chapters.pretrained_survey.choices import TEXT_ALONE, beaten, choices
from chapters.pretrained_survey.measures import families_of_modality, halves
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


def exceptions(released: pd.DataFrame) -> str:
    """Which pairs of released language models have the more symmetric decoder."""
    lost = pairs_of(released).query("difference <= 0")
    if lost.empty:
        return "The encoder has the higher score in every pair."
    assert len(lost) > 1 and set(lost["model of decoder"]) == {"TinyStories-1Layer-21M"}
    return f"""The decoder has the higher score in only {len(lost)} pairs. In these pairs, the decoder is
        TinyStories-1Layer-21M, which has a single layer, and the encoders are
        {joined_by_and(lost["model of encoder"].tolist())}."""


def by_size(released: pd.DataFrame) -> str:
    """That the symmetry of released encoders falls with their size, if the type of positional encoding is the same."""
    encoders = with_learned_positions(released)
    assert rank_correlation(encoders, "encoder") < FALLS
    small, large = encoders.loc[encoders["parameters"].idxmin()], encoders.loc[encoders["parameters"].idxmax()]
    return f"""Among the {len(encoders)} encoders with learned position embeddings, smaller models are more symmetric.
        For example, {small["model"]} with {_millions(small["parameters"])} parameters scores {number(small["s"], 2)},
        whereas {large["model"]} with {_millions(large["parameters"])} parameters scores {number(large["s"], 2)}."""


def _millions(parameters: float) -> str:
    return f"{parameters / 1e9:.1f} billion" if parameters >= 1e9 else f"{parameters / 1e6:.0f} million"


def of_equal_size_in_short(released: pd.DataFrame) -> str:
    """The same comparison between models of a similar size, as the top of the page says it."""
    gaps = of_equal_size(released)["difference"]
    assert (gaps > 0).all()
    if gaps.empty:
        return "No released encoder and decoder have a similar number of parameters."
    return f"""In all {len(gaps)} pairs of an encoder and a decoder whose sizes differ by at most a factor of
        {spelled(EQUAL)}, the encoder has the higher score."""


def equal_size(released: pd.DataFrame, read: pd.DataFrame) -> str:
    """In how many pairs of a similar size the encoder has the higher score, for both sources of scores."""
    said = []
    for words, models in (("released models", released), ("language models that we scored ourselves", read)):
        gaps = of_equal_size(models)["difference"]
        assert (gaps > 0).all()
        if len(gaps):
            said.append(f"all {len(gaps)} such pairs of {words}")
    if not said:
        return "There are no such pairs."
    return f"The encoder has the higher symmetry score in {joined_by_and(said)}."


def falls_with_size(released: pd.DataFrame) -> str:
    """The relation of symmetry and size in released encoders and decoders, and what follows for their difference."""
    rho = {part: rank_correlation(released, part) for part in ("encoder", "decoder")}
    assert rho["encoder"] < FALLS < rho["decoder"]
    count, learned = released.groupby("part").size(), with_learned_positions(released)
    return f"""Among the released language encoders, the symmetry score falls with the number of parameters. Spearman's rank
        correlation between symmetry and size is {number(rho["encoder"], 2, "+")} for all {count["encoder"]} encoders and
        {number(rank_correlation(learned, "encoder"), 2, "+")} for the {len(learned)} encoders with learned position
        embeddings. We give no p-value, because models of one family are not independent. For the {count["decoder"]}
        released decoders, the rank correlation between symmetry and size is {number(rho["decoder"], 2, "+")}. The
        difference between encoders and decoders is therefore larger for small models than for large models."""


def largest_encoder(released: pd.DataFrame) -> str:
    """That there is a single encoder among the largest models of the table by size; "" if it is left out."""
    (name, (least, _)) = list(CLASSES.items())[-1]
    large = released[(released["part"] == "encoder") & (released["parameters"] >= least)]
    if large.empty:
        return ""
    (only,) = large.itertuples()
    assert only.positions.startswith("relative")
    return f"In the row “{name}”, the only encoder is {only.model}, which has relative position embeddings."


def inside_encoder_decoder_models(halves_of: pd.DataFrame) -> str:
    """How the score of the encoders inside encoder-decoder models depends on size, in the family with most models."""
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
    assert decoder_families(results, "vision") == ["iGPT"]  # the short name of ImageGPT in the registry
    said = "In vision, all released decoders belong to the ImageGPT family."
    if audio := decoder_families(results, "audio"):
        (family,) = audio
        said += f" In audio, all released decoders belong to the {family} family."
    return f"""{said} With a single family in one of the groups, these comparisons can neither confirm nor refute the
        claim."""


def reversed_halves(results: pd.DataFrame) -> str:
    """The encoder-decoder model whose decoder is the more symmetric half; "" if it is left out."""
    lost = halves("s", results).query("difference <= 0")
    if lost.empty:
        return ""
    (only,) = lost.itertuples()
    return f"""Among the encoder-decoder models, the decoder has the higher score only in {only.Index}, where the encoder
        scores {number(only.encoder, 2)} and the decoder scores {number(only.decoder, 2)}."""


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
    """The family whose encoder loses pairs, and what is known about it."""
    losing = beaten(of_families(stacks, ["symmetry"]), "symmetry")
    if not losing:
        return "The encoder has the higher score in every pair of families."
    assert list(losing) == ["BART g2p"]
    score = stacks[stacks["family"] == "BART g2p"].set_index("part")["symmetry"]
    return f"""In all pairs in which the decoder has the higher score, the encoder belongs to BART g2p, a small model that
        converts the spelling of a word to its pronunciation. The encoder and the decoder of BART g2p have one layer each, and
        each layer has one head. The encoder scores {number(score["encoder"], 2)}, and the decoder scores
        {number(score["decoder"], 2)}. We do not know why this model is different."""


def left_out(stacks: pd.DataFrame) -> str:
    """The language model that we scored and that stands in no comparison by size; "" if the reader leaves it out."""
    text = stacks[(stacks["modality"] == "text") & stacks["part"].isin(["encoder", "decoder"])]
    unknown = set(text["model"]) - recorded_parameters().keys()
    if not unknown:
        return ""
    assert unknown == {"BART g2p"}
    return "BART g2p is left out, because its size is not known."


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
