"""Sentences about planned comparisons of symmetric with random initialisation, which depend on those that a reader chose.

Among the recorded comparisons of encoders that repeat no other, symmetric initialisation clearly helped in `FOUND` alone,
was slightly faster in `SHORT`, and was slower in none.
"""

from collections.abc import Sequence

from scipy import stats

from chapters.symmetric_initialisation.speed_ups import speed_up_of
from chapters.symmetric_initialisation.starts import AGAIN, FOUND, Outcome, Setting
from attngeo.experiments.runs.estimates import LEVEL
from attngeo.experiments.runs.numbers_in_words import as_percent, joined_by_and, number, spelled

SHORT = "confirm_short_encoder_characters"
FASTER = {FOUND: Outcome.MUCH_FASTER, SHORT: Outcome.FASTER}


def of_encoders(plans: Sequence[Setting]) -> list[Setting]:
    """Comparisons of encoders, without the one that repeats another. Their outcomes are asserted."""
    compared = [p for p in plans if p.encoder and p.plan != AGAIN]
    assert {p.plan: p.outcome for p in compared if p.primary.difference().high < 0} == {
        p.plan: FASTER[p.plan] for p in compared if p.plan in FASTER
    }
    assert all(p.primary.difference().low <= 0 for p in compared)  # none is slower
    return compared


def answer(plans: Sequence[Setting]) -> str:
    """What symmetric initialisation does to small encoders, in two to four sentences."""
    compared = of_encoders(plans)
    if not compared:
        return "The chosen experiments include no first comparison of encoders, so they cannot answer the question."
    if len(compared) == 1:
        where = "In our planned comparison of small encoders,"
        did_not_help = f"{where} symmetric initialisation did not clearly help."
        no_harm = "Symmetric initialisation did not clearly raise the final loss."
    else:
        counted = f"our {spelled(len(compared))} planned comparisons of small encoders with learned position embeddings"
        where = f"In one of {counted},"
        did_not_help = f"In none of {counted} did symmetric initialisation clearly help."
        no_harm = "In no comparison did symmetric initialisation clearly raise the final loss."
    by_name = {p.plan: p for p in plans}
    if FOUND not in by_name:
        return f"{did_not_help} {no_harm}"
    saved = _saved(by_name[FOUND])
    sentences = [f"{where} symmetric initialisation clearly helped: it saved {saved} of the training steps."]
    if again := by_name.get(AGAIN):
        assert again.outcome is Outcome.MUCH_FASTER
        sentences.append(
            f"When we repeated this comparison with {spelled(len(again.primary))} new seeds, symmetric initialisation"
            f" saved {_saved(again)} of the steps."
        )
    if len(compared) > 1:
        others = "comparison" if len(compared) == 2 else f"{spelled(len(compared) - 1)} comparisons"
        sentences.append(
            f"In the other {others}, symmetric initialisation saved few or no training steps, or the result was"
            " inconclusive."
        )
    return " ".join((*sentences, no_harm))


def _saved(setting: Setting) -> str:
    return as_percent(speed_up_of(setting.primary).value)


def below_zero(plans: Sequence[Setting]) -> str:
    """Which intervals lie below zero, so that the clear results and the others are told apart."""
    compared = of_encoders(plans)
    below = [p for p in compared if p.plan in FASTER]
    if not below:
        return "In no comparison of encoders does the confidence interval lie entirely below zero."
    where = f"{spelled(len(below))} of the {spelled(len(compared))} comparisons"
    if len(below) == len(compared):
        where = "the comparison" if len(below) == 1 else "both comparisons"
    sentences = [f"In {where} of encoders, the confidence interval lies entirely below zero."]
    for p in below:
        what = (
            f"In encoders with {p.shape} that were trained on {p.length} ({len(p.primary)} seeds), symmetric"
            " initialisation lowers the final loss by"
        )
        gain = f"{number(-p.primary.difference().value, 3)} nats"
        if p.plan == FOUND:
            sentences.append(f"{what} {gain} and saves {_saved(p)} of the training steps.")
        else:
            assert speed_up_of(p.primary).value == 0
            sentences.append(
                f"{what} only {gain}. By our measure, symmetric initialisation saves no training steps in this"
                " comparison, so under our criteria it counts as only “slightly faster”."
            )
    if len(plans) > len(compared) > 1:
        kinds = {
            "a replication with new seeds": any(p.plan == AGAIN for p in plans),
            "comparisons of decoders": any(not p.encoder for p in plans),
        }
        extra = joined_by_and([words for words, among in kinds.items() if among])
        sentences.append(f"The figure also shows comparisons that we do not count here, namely {extra}.")
    return " ".join(sentences)


def by_chance(plans: Sequence[Setting]) -> str:
    """How many intervals would lie below zero by chance; on its own, no comparison is significant."""
    compared = of_encoders(plans)
    if not compared:
        return "The chosen experiments include no first comparison of encoders."
    below = sum(p.plan in FASTER for p in compared)
    if not below:
        return "None of the comparisons of encoders has a confidence interval that lies entirely below zero."
    chance = stats.binom.sf(below - 1, len(compared), (1 - LEVEL) / 2)
    if len(compared) == 1:
        return (
            "The comparison of encoders has a confidence interval that lies entirely below zero. If symmetry had no"
            f" effect at all, the probability of such an interval would be {chance:.3f}."
        )
    assert all(len(compared) * p.p > 1 - LEVEL for p in compared)
    return (
        f"Of the {spelled(len(compared))} comparisons of encoders, {spelled(below)} {'has' if below == 1 else 'have'} a"
        " confidence interval that lies entirely below zero. If symmetric initialisation had no effect at all and the"
        f" comparisons were independent, the probability of at least {spelled(below)} such interval{'s' * (below > 1)} would be"
        f" {chance:.3f}. After a Bonferroni correction for {spelled(len(compared))} comparisons,"
        " none of the comparisons is significant."
    )


def scale_at(width: int, factor: float) -> str:
    """What ``default-linear`` does to the scale of W_qk at a width."""
    where = f"At a width of {width:,}, `default-linear`"
    if factor > 1.2:
        return f"{where} increases the scale of $W_{{qk}}$ by a factor of {factor:.2f}."
    if factor < 0.8:
        return f"{where} reduces the scale of $W_{{qk}}$ to {factor:.2f} times its usual value."
    return f"{where} changes the scale of $W_{{qk}}$ by a factor of only {factor:.2f}."
