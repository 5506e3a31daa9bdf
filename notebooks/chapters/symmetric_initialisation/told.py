"""Sentences about planned comparisons of symmetric with random initialisation, chosen by their outcomes."""

from collections.abc import Sequence

from scipy import stats

from chapters.symmetric_initialisation.speed_ups import speed_up_of
from chapters.symmetric_initialisation.starts import AGAIN, FOUND, Outcome, Setting
from attngeo.experiments.runs.estimates import LEVEL, NEVER
from attngeo.experiments.runs.numbers_in_words import as_percent, extent, joined_by_and, number, spelled

COUNTED = "planned comparisons of small encoders with learned position embeddings"


def of_encoders(plans: Sequence[Setting]) -> list[Setting]:
    """Comparisons of encoders, without the one that repeats another."""
    return [p for p in plans if p.encoder and p.plan != AGAIN]


def _share(count: int, total: int) -> str:
    return _every(total) if count == total else f"{spelled(count)} of the {spelled(total)}"


def _every(total: int) -> str:
    return "both" if total == 2 else f"all {spelled(total)}"


def answer(plans: Sequence[Setting]) -> str:
    """What symmetric initialisation does to small encoders, in two to four sentences."""
    compared = of_encoders(plans)
    if not compared:
        return "The chosen experiments include no first comparison of encoders, so they cannot answer the question."
    return " ".join(filter(None, (_clear(compared), _repeated(plans), _others(compared), _slower(compared))))


def _clear(compared: Sequence[Setting]) -> str:
    clear = [p for p in compared if p.outcome is Outcome.MUCH_FASTER]
    if not clear and len(compared) == 1:
        return "In our planned comparison of small encoders, symmetric initialisation did not clearly help."
    if not clear:
        return f"In none of our {spelled(len(compared))} {COUNTED} did symmetric initialisation clearly help."
    saved = sorted(speed_up_of(p.primary).value for p in clear)
    percent = as_percent(saved[0]) if len(saved) == 1 else extent(saved, as_percent)
    if len(compared) == 1:
        where = "In our planned comparison of small encoders"
    elif len(clear) == len(compared):
        where = f"In {_every(len(clear))} {COUNTED}"
    else:
        where = f"In {spelled(len(clear))} of our {spelled(len(compared))} {COUNTED}"
    return f"{where}, symmetric initialisation clearly helped: it saved {percent} of the training steps."


def _others(compared: Sequence[Setting]) -> str:
    others = [p for p in compared if p.outcome is not Outcome.MUCH_FASTER]
    if not others or len(others) == len(compared):
        return ""
    where = "In the other comparison" if len(others) == 1 else f"In the other {spelled(len(others))} comparisons"
    return f"{where}, symmetric initialisation saved few or no training steps, or the result was inconclusive."


def _repeated(plans: Sequence[Setting]) -> str:
    by_name = {p.plan: p for p in plans}
    if not {FOUND, AGAIN} <= set(by_name) or by_name[FOUND].outcome is not Outcome.MUCH_FASTER:
        return ""
    again = by_name[AGAIN]
    when = f"When we repeated this comparison with {spelled(len(again.primary))} new seeds,"
    return {
        Outcome.MUCH_FASTER: f"{when} symmetric initialisation saved {as_percent(speed_up_of(again.primary).value)} of the steps.",
        Outcome.FASTER: f"{when} symmetric initialisation lowered the final loss but did not clearly save training steps.",
        Outcome.SLOWER: f"{when} symmetric initialisation raised the final loss.",
        Outcome.SAME: f"{when} we found no difference.",
        Outcome.UNDECIDED: f"{when} the result was inconclusive.",
    }[again.outcome]


def _slower(compared: Sequence[Setting]) -> str:
    slower = sum(p.outcome is Outcome.SLOWER for p in compared)
    if len(compared) == 1:
        raised = "raised" if slower else "did not clearly raise"
        return f"Symmetric initialisation {raised} the final loss."
    if slower:
        return f"In {_share(slower, len(compared))} comparisons, symmetric initialisation raised the final loss."
    return "In no comparison did symmetric initialisation clearly raise the final loss."


def below_zero(plans: Sequence[Setting]) -> str:
    """Which intervals lie below zero, so that the clear results and the others are told apart."""
    compared = of_encoders(plans)
    below = [p for p in compared if p.primary.difference().high < 0]
    clear = [p for p in below if p.outcome is Outcome.MUCH_FASTER]
    if not below:
        return "In no comparison of encoders does the confidence interval lie entirely below zero."
    where = f"In {_share(len(below), len(compared))} comparisons" if len(compared) > 1 else "In the comparison"
    sentences = [f"{where} of encoders, the confidence interval lies entirely below zero."]
    for p in below:
        gain = f"{number(-p.primary.difference().value, 3)} nats"
        what = f"In encoders with {p.shape} that were trained on {p.length} ({len(p.primary)} seeds), symmetric initialisation"
        steps = speed_up_of(p.primary).value
        share = "no training steps" if steps in (0, NEVER) else f"{as_percent(steps)} of the training steps"
        if p in clear:
            sentences.append(f"{what} lowers the final loss by {gain} and saves {share}.")
        else:
            sentences.append(
                f"{what} lowers the final loss by only {gain}. By our measure, symmetric initialisation saves {share}"
                " in this comparison, so under our criteria it counts as only “slightly faster”."
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
    """How many intervals would lie below zero by chance, and how many comparisons are significant on their own."""
    compared = of_encoders(plans)
    if not compared:
        return "The chosen experiments include no first comparison of encoders."
    below = sum(p.primary.difference().high < 0 for p in compared)
    chance = stats.binom.sf(below - 1, len(compared), (1 - LEVEL) / 2)
    if not below:
        return "None of the comparisons of encoders has a confidence interval that lies entirely below zero."
    if len(compared) == 1:
        return (
            "The comparison of encoders has a confidence interval that lies entirely below zero. If symmetry had no"
            f" effect at all, the probability of such an interval would be {chance:.3f}."
        )
    significant = sum(len(compared) * p.p < 1 - LEVEL for p in compared)
    verb = "is" if significant < 2 else "are"
    return (
        f"Of the {spelled(len(compared))} comparisons of encoders, {spelled(below)} {'has' if below == 1 else 'have'} a"
        " confidence interval that lies entirely below zero. If symmetric initialisation had no effect at all and the"
        f" comparisons were independent, the probability of at least {spelled(below)} such interval{'s' * (below > 1)} would be"
        f" {chance:.3f}. After a Bonferroni correction for {spelled(len(compared))} comparisons,"
        f" {spelled(significant) if significant else 'none'} of the comparisons {verb} significant."
    )


def scale_at(width: int, factor: float) -> str:
    """What ``default-linear`` does to the scale of W_qk at a width."""
    where = f"At a width of {width:,}, `default-linear`"
    if factor > 1.2:
        return f"{where} increases the scale of $W_{{qk}}$ by a factor of {factor:.2f}."
    if factor < 0.8:
        return f"{where} reduces the scale of $W_{{qk}}$ to {factor:.2f} times its usual value."
    return f"{where} changes the scale of $W_{{qk}}$ by a factor of only {factor:.2f}."
