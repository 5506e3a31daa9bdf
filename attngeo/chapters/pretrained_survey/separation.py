"""Section 3 and its figures: do the released scores separate encoders from decoders, in language, vision and audio?"""

import pandas as pd
from scipy.stats import binomtest

from attngeo.paper.checks import Comparison, Comparisons, Judgement, Relation, check, compare, exact
from attngeo.survey.against_half import against_half
from attngeo.survey.auc import Separation, separation
from attngeo.survey.released_results import released_results

SCORES = {"s": "symmetry", "d": "directionality"}


def of_figure(figure: str, score: str, results: pd.DataFrame) -> Separation:
    """AUC of a score, s or d, in a figure ("2", "S1 vision", "S1 audio", "S2") as drawn: encoders against decoders."""
    drawn = results[(results["figure"] == figure) & results[score].between(-1, 1)]
    return _separation(drawn, "drawn_as", ("encoder", "decoder"), score)


def of_modality(modality: str, score: str, results: pd.DataFrame) -> Separation:
    """AUC of a score, s or d, among models that count: bidirectional against causal self-attention.

    Of text, models that have an encoder and a decoder are left to Figure S2.
    """
    counted = results[results["counted"] & (results["modality"] == modality) & (results["figure"] != "S2")]
    return _separation(counted, "attention", ("bidirectional", "causal"), score)


def halves(score: str, results: pd.DataFrame) -> pd.DataFrame:
    """The encoder-decoder models of Figure S2: columns encoder, decoder, difference; one row per model."""
    drawn = results[results["figure"] == "S2"].pivot(index="model", columns="part", values=score)
    return drawn[["encoder", "decoder"]].assign(difference=drawn["encoder"] - drawn["decoder"])


def all_separations(results: pd.DataFrame) -> pd.DataFrame:
    """Every AUC of the page: columns models, score, and those of `Separation`."""
    modalities = {"language": "text", "vision": "vision", "audio": "audio"}
    figures = {f"Figure {figure}, as drawn": figure for figure in ("2", "S1 vision", "S1 audio", "S2")}
    cases = [(of_modality, *case) for case in modalities.items()] + [(of_figure, *case) for case in figures.items()]
    return pd.DataFrame(
        {"models": words, "score": score} | vars(measure(label, score, results))
        for measure, words, label in cases
        for score in SCORES
    )


@check(released_results)
def section_3_symmetry_in_language(results: pd.DataFrame) -> Judgement:
    """AUC of symmetry, encoder-only against decoder-only language models, lies above 1/2."""
    found = of_modality("text", "s", results)
    return Judgement(*(_against_half(end, found, ">", "s", "language") for end in ("low", "family_low")))


@check(released_results)
def section_3_directionality_in_language(results: pd.DataFrame) -> Judgement:
    """AUC of directionality, encoder-only against decoder-only language models, lies above 1/2."""
    found = of_modality("text", "d", results)
    ends = (_against_half(end, found, ">", "d", "language") for end in ("low", "family_low"))
    return Judgement(*ends, compare("overlap", found.auc, "<", 1))


@check(released_results)
def section_3_symmetry_elsewhere(results: pd.DataFrame) -> Comparisons:
    """AUC of symmetry in vision and audio lies above 1/2 once decoders are causal self-attention, not as drawn."""
    yield from (_against_half("low", of_modality(m, "s", results), ">", "s", m) for m in ("vision", "audio"))
    yield _against_half("low", of_figure("S1 vision", "s", results), "<", "s", "S1 vision as drawn", "as drawn")


@check(released_results)
def section_3_directionality_elsewhere(results: pd.DataFrame) -> Comparisons:
    """AUC of directionality in vision and audio: its intervals hold 1/2."""
    whisper = results[(results["model"] == "whisper-large-v3") & (results["part"] == "encoder")]["d"].item()
    yield _against_half("low", of_modality("vision", "d", results), "<", "d", "vision")
    yield _against_half("low", of_figure("S1 vision", "d", results), "<", "d", "vision, S1 as drawn")
    yield _against_half("low", of_modality("audio", "d", results), "<", "d", "audio")
    yield compare("whisper", whisper, ">")


@check(released_results)
def section_3_halves_of_one_model(results: pd.DataFrame) -> Judgement:
    """Within T5, BART and mBART: in how many models does the encoder exceed the decoder, in either score."""
    s, d = (halves(score, results)["difference"] for score in SCORES)
    symmetric, directional = int((s > 0).sum()), int((d > 0).sum())
    return Judgement(
        compare("symmetric", binomtest(symmetric, len(s)).pvalue, "<", 0.05, count=symmetric),
        compare("exception", s["t5-11b"], "<"),
        exact("reverse", (s < 0).sum(), 1, 0),
        compare("directional", binomtest(directional, len(d)).pvalue, ">", 0.05, count=directional),
        models=len(s),
    )


@check(released_results)
def figure_2_as_drawn(results: pd.DataFrame) -> Judgement:
    """Figure 2: both scores of the language models drawn there separate encoders from decoders, AUC above 1/2."""
    drawn = results[results["figure"] == "2"]
    counted = int(drawn["counted"].sum())
    ends = (
        _against_half(end, of_figure("2", score, results), ">", score, "Figure 2")
        for score in SCORES
        for end in ("low", "family_low")
    )
    return Judgement(*ends, compare("counted", counted, "<", len(drawn)), counted=counted, drawn=len(drawn))


@check(released_results)
def figure_s1_as_drawn(results: pd.DataFrame) -> Comparisons:
    """Figure S1: vision models as drawn do not separate; audio models do, in d through MusicGen's cross-attention."""
    own = results[~results["defects"].str.contains("cross-attention|text-encoder")]
    words = "Figure S1 audio, MusicGen left out"
    yield from (end for s in SCORES for end in _around_half(of_figure("S1 vision", s, results), s, "Figure S1 vision"))
    yield from (_against_half("low", of_figure("S1 audio", s, results), ">", s, "Figure S1 audio") for s in SCORES)
    yield _against_half("low", of_figure("S1 audio", "s", own), ">", "s", words)
    yield from _around_half(of_figure("S1 audio", "d", own), "d", words)


def _around_half(found: Separation, score: str, models: str) -> tuple[Comparison, ...]:
    ends = (("low", "<"), ("high", ">"))
    return tuple(_against_half(end, found, relation, score, models) for end, relation in ends)


def _against_half(
    end: str, found: Separation, relation: Relation, score: str, models: str, key: str = ""
) -> Comparison:
    return against_half(found, end, relation, key, score=SCORES[score], models=models)


def _separation(rows: pd.DataFrame, column: str, groups: tuple[str, str], score: str) -> Separation:
    first, second = (rows[rows[column] == g] for g in groups)
    families = [g["family"].fillna("none").tolist() for g in (first, second)]
    return separation(first[score].to_numpy(), second[score].to_numpy(), *families)
