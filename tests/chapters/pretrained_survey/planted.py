"""Errors planted in the claims of *Pretrained models*: the claim, what is replaced, by what, and what may fail."""

from dataclasses import replace
from functools import partial

from chapters.pretrained_survey import measures
from livingpaper.released_results import released_results

from attngeo.bilinear.rows import SCORES

MEASURES = "chapters.pretrained_survey.measures."
RESULTS, READ = released_results(), measures.recorded_weights()
STACKS, S2 = READ.stacks, RESULTS["figure"] == "S2"
HALVES = S2 & (RESULTS["part"] == "encoder")
EXCEPTION = HALVES & (RESULTS["model"] == "t5-small")  # the second
VISION = (RESULTS["attention"] == "causal") & ~S2 & (RESULTS["modality"] == "vision")
OTHER = {"encoder": "decoder", "decoder": "encoder", "bidirectional": "causal", "causal": "bidirectional"}


def results(**columns):
    return "released_results", lambda: RESULTS.assign(**columns)


def stacks(of="", **columns):
    changed = replace(READ, stacks=STACKS.assign(**columns))
    return f"{of}recorded_weights", lambda: changed


language = partial(stacks, of=MEASURES)


def moved(model, score, by=1e-5):
    return stacks(**{score: STACKS[score] + by * (STACKS["model"] == model)})


def lost(losses):
    changed = replace(READ, losses=READ.losses.assign(lost=losses))
    return "recorded_weights", lambda: changed


def exchanged(column):
    return results(**{column: RESULTS[column].map(OTHER).fillna(RESULTS[column])})


minus = results(s=-RESULTS["s"], d=-RESULTS["d"])
apart = {score: STACKS[score] - (STACKS["attention"] == "causal") for score in SCORES if score != "symmetry"}
by_definition = (STACKS["directionality"] + 2 * (STACKS["attention"] == "bidirectional")).rename("directionality")
DRAWN_APART = (RESULTS["drawn_as"] != "decoder") & (RESULTS["part"] == "encoder")
WITHOUT_CROSS = RESULTS["defects"].str.replace("cross-attention|text-encoder", "", regex=True)
IN_LANGUAGE, DRAWN = ("section_3_symmetry_in_language", "section_3_directionality_in_language"), "figure_2_as_drawn"
ELSEWHERE = ("section_3_symmetry_elsewhere", "section_3_directionality_elsewhere")
OF_HALVES = {"s": "section_3_halves_of_one_model", "d": "directionality_of_the_halves"}
ON_WEIGHTS = ("section_3_symmetry_on_weights", "section_3_directionality_on_weights")

EQUAL_SIZE, PARAMETERS = "section_3_symmetry_at_equal_size", RESULTS["parameters"]

PLANTED = [
    (EQUAL_SIZE, *minus),
    (EQUAL_SIZE, *results(parameters=PARAMETERS.max() - PARAMETERS), "released"),
    (EQUAL_SIZE, *stacks(symmetry=-STACKS["symmetry"]), "our own scores"),
    *((claim, *minus) for claim in (*IN_LANGUAGE, *ELSEWHERE, *OF_HALVES.values(), DRAWN)),
    ("figure_s1_as_drawn", *minus),
    (IN_LANGUAGE[0], *exchanged("attention")),
    (DRAWN, *exchanged("drawn_as")),
    ("figure_s1_as_drawn", *exchanged("drawn_as")),
    (DRAWN, MEASURES + "separation", lambda right, one, other, *families: right(other, one, *families[::-1])),
    (IN_LANGUAGE[1], *language(directionality=STACKS["directionality_tables"])),
    (IN_LANGUAGE[1], *language(directionality_tables=STACKS["directionality"])),
    (DRAWN, *language(directionality=STACKS["directionality_tables"])),
    (IN_LANGUAGE[1], *stacks(directionality=by_definition)),
    (ELSEWHERE[0], *results(family=RESULTS["family"].where(~VISION, RESULTS["model"]))),
    (ELSEWHERE[0], *results(s=RESULTS["s"] + VISION)),
    (ELSEWHERE[1], *results(d=(RESULTS["d"] + 2 * DRAWN_APART - 1) / 3)),
    *((claim, *results(**{score: RESULTS[score] - 2 * EXCEPTION})) for score, claim in OF_HALVES.items()),
    (OF_HALVES["d"], *results(d=RESULTS["d"] + 2 * HALVES)),
    (DRAWN, *results(s=RESULTS.index.to_series().map(lambda i: (i * 7919 % 101) / 101))),
    ("figure_s1_as_drawn", *results(defects=WITHOUT_CROSS)),
    (ON_WEIGHTS[0], *stacks(modality="text")),
    (ON_WEIGHTS[0], *stacks(attention=STACKS["attention"].replace(OTHER))),
    (ON_WEIGHTS[0], "compared", lambda right, of, s: right(of.assign(attention=of["attention"].replace(OTHER)), s)),
    (ON_WEIGHTS[0], *lost(READ.losses["lost"] + 0.02), "s", "the same"),
    (ON_WEIGHTS[0], *lost(-READ.losses["lost"]), "the same"),
    (ON_WEIGHTS[1], *stacks(precision="")),
    (ON_WEIGHTS[1], *stacks(**apart)),
    ("figure_s1_formula", *moved("GPT-2", "symmetry"), "largest"),
    ("figure_s1_formula", *moved("BERT-tiny", "directionality_tables"), "the same"),
]
