"""Section 3 and its figures: do the released scores separate encoders from decoders, in language, vision and audio?"""

import pandas as pd
from scipy.stats import binomtest

from attngeo.paper.checks import Comparison, Comparisons, Judgement, Relation, check, compare, exact
from attngeo.survey.against_half import against_half
from attngeo.survey.auc import Separation, separation
from attngeo.survey.families import Compared, compared
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
    return _separation(_counted(modality, results), "attention", ("bidirectional", "causal"), score)


def families_of_modality(modality: str, score: str, results: pd.DataFrame) -> Compared:
    """The same, where a family counts once in either group, with the mean of its models."""
    means = _counted(modality, results).groupby(["family", "attention"])[score].mean()
    return compared(means.reset_index(), score)


def halves(score: str, results: pd.DataFrame) -> pd.DataFrame:
    """The encoder-decoder models of Figure S2: columns family, encoder, decoder, difference; one row per model."""
    drawn = results[results["figure"] == "S2"].pivot(index=["model", "family"], columns="part", values=score)
    drawn = drawn[["encoder", "decoder"]].reset_index("family")
    return drawn.assign(difference=drawn["encoder"] - drawn["decoder"])


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
def section_3_symmetry_elsewhere(results: pd.DataFrame) -> Judgement:
    """AUC of symmetry in vision and audio, a family once: one family of causal decoders each decides nothing."""
    found = {modality: families_of_modality(modality, "s", results) for modality in ("vision", "audio")}
    return Judgement(
        *(_against_half("low", one.separation, "<", "s", modality) for modality, one in found.items()),
        *(exact("below", one.separation.auc, 1, models=modality) for modality, one in found.items()),
        *(exact("one", one.separation.n_second, 1, models=modality) for modality, one in found.items()),
        _against_half("low", of_figure("S1 vision", "s", results), "<", "s", "S1 vision as drawn", "as drawn"),
        **{modality: one.p for modality, one in found.items()},
    )


@check(released_results)
def section_3_directionality_elsewhere(results: pd.DataFrame) -> Comparisons:
    """AUC of directionality in vision and audio, a family once: its intervals hold 1/2."""
    whisper = results[(results["model"] == "whisper-large-v3") & (results["part"] == "encoder")]["d"].item()
    for modality in ("vision", "audio"):
        found = families_of_modality(modality, "d", results).separation
        yield _against_half("low", found, "<", "d", modality)
    yield _against_half("low", of_figure("S1 vision", "d", results), "<", "d", "vision, S1 as drawn", "as drawn")
    yield compare("whisper", whisper, ">")


@check(released_results)
def section_3_halves_of_one_model(results: pd.DataFrame) -> Judgement:
    """Within T5, BART and mBART: in how many models, and families on average, is the encoder more symmetric."""
    drawn = halves("s", results)
    gaps, means = drawn["difference"], drawn.groupby("family")["difference"].mean()
    return Judgement(
        compare("most", (gaps > 0).mean(), ">", 0.5, count=(gaps > 0).sum()),
        compare("families", means.min(), ">"),
        compare("exception", gaps["t5-11b"], "<"),
        exact("reverse", (gaps < 0).sum(), 1, 0),
        compare("p", _sign_test(means), ">", 0.05, count=(means > 0).sum()),
        **_sizes(drawn),
    )


@check(released_results)
def directionality_of_the_halves(results: pd.DataFrame) -> Judgement:
    """Within T5, BART and mBART: signs and means of families lean to columns in decoders; neither test decides."""
    drawn = halves("d", results)
    gaps, means = drawn["difference"], drawn.groupby("family")["difference"].mean()
    return Judgement(
        compare("most", (gaps > 0).mean(), ">", 0.5, count=(gaps > 0).sum()),
        compare("families", means.min(), ">"),
        compare("p of models", _sign_test(gaps), ">", 0.05),
        compare("p", _sign_test(means), ">", 0.05, count=(means > 0).sum()),
        **_sizes(drawn),
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


def _counted(modality: str, results: pd.DataFrame) -> pd.DataFrame:
    return results[results["counted"] & (results["modality"] == modality) & (results["figure"] != "S2")]


def _sign_test(gaps: pd.Series) -> float:
    return float(binomtest(int((gaps > 0).sum()), len(gaps)).pvalue)


def _sizes(drawn: pd.DataFrame) -> dict[str, object]:
    """How many models and families there are, and the largest family."""
    sizes = drawn["family"].value_counts()
    return {"models": len(drawn), "n_families": len(sizes), "largest": f"{sizes.iloc[0]} are sizes of {sizes.index[0]}"}


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
