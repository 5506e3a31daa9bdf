"""Section 3: do the released scores separate encoders from decoders, in language, vision and audio?"""

import math

import pandas as pd

from attngeo.chapters.pretrained_survey.auc import Separation, separation
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim
from attngeo.survey.models import released_results

SCORES = {"s": "symmetry", "d": "directionality"}
SOURCE = "Judged on the released medians of distinct, trained, rightly extracted models; intervals of 95 %."


def of_figure(figure: str, score: str, results: pd.DataFrame) -> Separation:
    """AUC of ``score`` ("s" or "d") in a figure, its points taken as they were drawn: encoders against decoders.

    Args:
        figure: "2", "S1 vision", "S1 audio" or "S2".
        score: "s" or "d".
        results: `attngeo.survey.models.released_results`.
    """
    drawn = results[(results["figure"] == figure) & results[score].between(-1, 1)]
    return _separation(drawn, "drawn_as", ("encoder", "decoder"), score)


def of_modality(modality: str, score: str, results: pd.DataFrame) -> Separation:
    """AUC of ``score`` among models that count: bidirectional against causal self-attention.

    Args:
        modality: "text", "vision" or "audio"; of text, models that have an encoder and a decoder are left to Figure S2.
        score: "s" or "d".
        results: `attngeo.survey.models.released_results`.
    """
    counted = results[results["counted"] & (results["modality"] == modality) & (results["figure"] != "S2")]
    return _separation(counted, "attention", ("bidirectional", "causal"), score)


def halves(score: str, results: pd.DataFrame) -> pd.DataFrame:
    """The encoder-decoder models of Figure S2: columns encoder, decoder, difference; one row per model."""
    drawn = results[results["figure"] == "S2"].pivot(index="model", columns="part", values=score)
    return drawn[["encoder", "decoder"]].assign(difference=drawn["encoder"] - drawn["decoder"])


def all_separations(results: pd.DataFrame) -> pd.DataFrame:
    """Every AUC of the page: columns models, score, encoders, decoders, auc, low, high, family_low, family_high."""
    cases = [
        *(
            (words, of_modality, label)
            for words, label in (("language", "text"), ("vision", "vision"), ("audio", "audio"))
        ),
        *((f"Figure {label}, as drawn", of_figure, label) for label in ("2", "S1 vision", "S1 audio", "S2")),
    ]
    rows = []
    for words, measure, label in cases:
        for score in SCORES:
            found = measure(label, score, results)
            counts = {"encoders": found.n_first, "decoders": found.n_second}
            interval = {name: getattr(found, name) for name in ("auc", "low", "high", "family_low", "family_high")}
            rows.append({"models": words, "score": score, **counts, **interval})
    return pd.DataFrame(rows)


@claim
def section_3_symmetry_in_language(results: pd.DataFrame | None = None) -> Result:
    """AUC of symmetry, encoder-only against decoder-only language models, lies above 1/2."""
    found = of_modality("text", "s", _default(results))
    return Result(
        "Section 3",
        "(symmetry, language)",
        "language encoders are more symmetric than decoders",
        Verdict.HOLDS,
        _separated("language", "s", found),
        remark=SOURCE,
        chapter="pretrained_survey",
    )


@claim
def section_3_directionality_in_language(results: pd.DataFrame | None = None) -> Result:
    """AUC of directionality, encoder-only against decoder-only language models, lies above 1/2."""
    found = of_modality("text", "d", _default(results))
    return Result(
        "Section 3",
        "(directionality, language)",
        "language decoders are more column-dominated than encoders",
        Verdict.HOLDS,
        (
            *_separated("language", "d", found),
            Comparison("AUC of d, language: the groups overlap", found.auc, "<", 1.0, 0.0),
        ),
        remark=SOURCE,
        chapter="pretrained_survey",
    )


@claim
def section_3_symmetry_elsewhere(results: pd.DataFrame | None = None) -> Result:
    """AUC of symmetry in vision and audio lies above 1/2 once decoders are causal self-attention, not as drawn."""
    results = _default(results)
    as_drawn = of_figure("S1 vision", "s", results)
    comparisons = [*_separated("vision", "s", of_modality("vision", "s", results), families=False)]
    comparisons += _separated("audio", "s", of_modality("audio", "s", results), families=False)
    comparisons.append(_straddles("S1 vision as drawn", "s", as_drawn))
    return Result(
        "Section 3",
        "(symmetry, vision and audio)",
        "vision and audio encoders are more symmetric than decoders",
        Verdict.ASSUMPTIONS,
        tuple(comparisons),
        printed="Encoders are more symmetric than decoders in every modality considered.",
        corrected=(
            "So they are where a decoder is a causal self-attention: ImageGPT in vision and Whisper's in audio, one "
            "family each. The decoders of Figure S1 are mostly others: object queries of detectors, a vision tower, "
            "cross-attention. In vision they leave no separation."
        ),
        remark=SOURCE,
        flaw=Flaw.ASSUMPTION,
        chapter="pretrained_survey",
    )


@claim
def section_3_directionality_elsewhere(results: pd.DataFrame | None = None) -> Result:
    """AUC of directionality in vision and audio: its intervals hold 1/2."""
    results = _default(results)
    whisper = results[(results["model"] == "whisper-large-v3") & (results["part"] == "encoder")]["d"].item()
    return Result(
        "Section 3",
        "(directionality, vision and audio)",
        "the difference in directionality is consistent across all modalities",
        Verdict.CORRECTED,
        (
            _straddles("vision", "d", of_modality("vision", "d", results)),
            _straddles("vision, S1 as drawn", "d", of_figure("S1 vision", "d", results)),
            _straddles("audio", "d", of_modality("audio", "d", results)),
            Comparison("median d of whisper-large-v3's encoder: rows dominate", whisper, ">", 0.0, 0.0),
        ),
        printed="Decoders are more directional than encoders in all the models and input modalities considered.",
        corrected=(
            "In language they are. In vision and audio the released scores do not separate them: the interval of the "
            "AUC holds 1/2. The clear separation in the audio panel of Figure S1 rests on MusicGen's cross-attention."
        ),
        remark=SOURCE,
        flaw=Flaw.FAILURE,
        chapter="pretrained_survey",
    )


@claim
def section_3_halves_of_one_model(results: pd.DataFrame | None = None) -> Result:
    """Within T5, BART and mBART: in how many models does the encoder exceed the decoder, in either score."""
    results = _default(results)
    s, d = (halves(score, results)["difference"] for score in SCORES)
    n, p = len(s), {"s": _sign_test(s), "d": _sign_test(d)}
    return Result(
        "Figure S2",
        "",
        "the encoder of an encoder-decoder model is the more symmetric half",
        Verdict.HOLDS,
        (
            Comparison(
                f"encoder the more symmetric in {(s > 0).sum()} of {n}: p of a sign test", p["s"], "<", 0.05, 0.0
            ),
            Comparison("T5-11b, the exception: encoder's s less decoder's", float(s["t5-11b"]), "<", 0.0, 0.0),
            Comparison("models whose decoder is the more symmetric half", float((s < 0).sum()), "=", 1.0, 0.0),
            Comparison(
                f"decoder the more directional in {(d > 0).sum()} of {n}: p of a sign test", p["d"], ">", 0.05, 0.0
            ),
        ),
        remark=(
            "The caption of Figure S2 says that the halves do not differ significantly in directionality, the text of "
            "Section 3 that the pattern is similar to that of Figure 2; the signs agree with the caption."
        ),
        chapter="pretrained_survey",
    )


def _separation(rows: pd.DataFrame, column: str, groups: tuple[str, str], score: str) -> Separation:
    first, second = (rows[rows[column] == g] for g in groups)
    families = [g["family"].fillna("none").tolist() for g in (first, second)]
    return separation(first[score].to_numpy(), second[score].to_numpy(), *families)


def _separated(words: str, score: str, found: Separation, families: bool = True) -> tuple[Comparison, ...]:
    counts = f"{found.n_first} encoders, {found.n_second} decoders"
    ends = [("independent models", found.low)] + ([("independent families", found.family_low)] if families else [])
    return tuple(
        Comparison(f"AUC {found.auc:.3f} of {SCORES[score]}, {words} ({counts}): lower end, {of}", end, ">", 0.5, 0.0)
        for of, end in ends
    )


def _straddles(words: str, score: str, found: Separation) -> Comparison:
    counts = f"{found.n_first} encoders, {found.n_second} decoders"
    quantity = f"AUC {found.auc:.3f} of {SCORES[score]}, {words} ({counts}): lower end of its interval"
    return Comparison(quantity, found.low, "<", 0.5, 0.0)


def _sign_test(differences: pd.Series) -> float:
    """Two-sided probability of signs at least this uneven from a fair coin."""
    n, k = len(differences), int(max((differences > 0).sum(), (differences < 0).sum()))
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k, n + 1)) / 2**n)


def _default(results: pd.DataFrame | None) -> pd.DataFrame:
    return released_results() if results is None else results
