"""A check as the book shows it: one line, which unfolds to its numbers."""

import re
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import pandas as pd

from attngeo.plot.typeset import significant, typeset, with_error, within
from livingpaper.claims.published import of_the_paper
from livingpaper.claims.results import Claim, Comparison, Result, Standing, Verdict
from livingpaper.display.tables import markdown_table

MEANINGS = {  # the verdict with the gravest consequence for the paper comes first
    Verdict.CHANGES: "The statement is false as printed, and correcting it changes what the paper concludes.",
    Verdict.UNDECIDED: "Our measurements do not settle this question, for at least one of three reasons: they are"
    " compatible with both answers, they differ between cases, or they come from models that are too small or were"
    " trained too briefly.",
    Verdict.SHORT: "We found the effect that we were testing for, but it is smaller or less certain than our plan"
    " required.",
    Verdict.ASSUMPTION: "The statement is true under an additional assumption, which the paper does not state.",
    Verdict.STATED: "The statement is true under an assumption that the paper states. Whether trained models meet this"
    " assumption is a separate question.",
    Verdict.MISPRINT: "The paper contains a slip, but its conclusion is unchanged once the slip is corrected.",
    Verdict.HOLDS: "The statement is true as printed in the paper or, if it is our own statement, as we state it.",
}
MARKS = dict(zip(MEANINGS, "×?◐+⊢≠✓", strict=True))
UNSUPPORTED = "not supported by this run"
UNSUPPORTED_MEANS = "In this run, at least one number disagrees with the verdict that we wrote for this check."
STANDING = {
    Standing.AGREES: "✓",
    Standing.CONTRADICTS: "×",
    Standing.UNDECIDED: "?",
    Standing.TOLD: "–",
    Standing.SHORT: "◐",
}
CODE = "<!-- code of {} -->"
FIRST = 4  # rows of numbers that an open check shows; a single further row is shown as well
ROUNDING = 1e-6  # a comparison with 0 whose tolerance is at most this is an identity
IN_WORDS = {"=": "{}", "≠": "a value other than {}", "<": "a value below {}", ">": "a value above {}"}
CONFIRMED = {  # what the numbers that agree with us confirm
    Verdict.HOLDS: "the statement",
    Verdict.STATED: "our remark on the statement and its assumption",
    Verdict.MISPRINT: "the corrected statement",
    Verdict.ASSUMPTION: "our version of the statement",
    Verdict.CHANGES: "our version of the statement",
}
TICK = '<span aria-hidden="true">✓</span>'


def badge(verdict: str, supported: bool = True) -> str:
    """A verdict as the book prints it (HTML): a mark and a label in a frame, which shows its meaning on hover."""
    if not supported:
        return f'<span class="verdict verdict-unsupported" data-means="{UNSUPPORTED_MEANS}">{UNSUPPORTED}</span>'
    found = Verdict(verdict)
    mark = f'<span aria-hidden="true">{MARKS[found]}</span>'
    return f'<span class="verdict verdict-{found.name.lower()}" data-means="{MEANINGS[found]}">{mark} {verdict}</span>'


def legend() -> str:
    """A list of all badges with their meanings (MyST)."""
    return "\n".join(f"- {badge(verdict.value)} {words}" for verdict, words in MEANINGS.items())


class Row(NamedTuple):
    """One line of the table behind a check: a comparison, or several identities that are merged."""

    comparison: Comparison
    quantity: str
    paper: str  # the paper's number; "" if the paper has none
    ours: str  # our number; "" if it is the paper's
    measured: str  # "" if the paper has both numbers

    @property
    def standing(self) -> Standing:
        """The standing of the comparison."""
        return self.comparison.standing

    @property
    def missed(self) -> bool:
        """Whether the paper has a number here that our measurement contradicts."""
        return bool(self.paper) and self.standing is Standing.CONTRADICTS

    @property
    def outcome(self) -> str:
        """The standing with its mark. If the paper claims a sign and we find 0, it is called *not found*."""
        c, words = self.comparison, self.standing.value
        if c.claim and c.claim.relation in ("<", ">") and (c.relation, c.expected) == ("=", c.claim.number) and c.holds:
            words = "not found"
        return f"{STANDING[self.standing]} {words}"


def check_line(result: Result, unfolded: bool = False) -> str:
    """The check in MyST and HTML: a line that unfolds to what the paper states, the numbers and their code.

    An unfolded check shows its code above the numbers that the code computes.
    """
    lines = rows(result)
    name = ("Our statement on " if result.ours else "") + of_the_paper(result.statement, result.part)
    said = f"**{name}.** {stopped(typeset(result.title[:1].upper() + result.title[1:]))}"
    if lines[:1] and lines[0].missed:  # `rows` puts contradicted numbers first
        said += f" {_contradicted(lines[0])}"
    count = len(_distinct(result.comparisons))
    parts = [
        badge(str(result.verdict), result.supported),
        f'<span class="check-said">{said}</span>',
        f'<span class="check-ours">{_found(result, lines)}</span>',
        f'<span class="check-count">{"See the number" if count == 1 else f"See the {count} numbers"}</span>',
    ]
    opened = " open" if unfolded or not result.supported else ""
    head = f'<details class="check"{opened}><summary>\n\n{" ".join(parts)}\n\n</summary>'
    code = CODE.format(result.source) if result.source else ""  # the book puts the code of its cell here
    folded = [code, _numbers(lines, FIRST)] if unfolded else [_numbers(lines), code]
    return "\n\n".join(filter(None, [head, _texts(result), *folded, "</details>"]))


def _numbers(lines: list[Row], first: int | None = None) -> str:
    """The table of all lines. If it is much longer than ``first`` lines, a fold contains the other lines."""
    if first is None or len(lines) <= first + 1:
        return markdown_table(_frame(lines))
    more = f"<details><summary>See {len(lines) - first} more numbers</summary>"
    return "\n\n".join([_numbers(lines[:first]), more, _numbers(lines[first:]), "</details>"])


def rows(result: Result) -> list[Row]:
    """The rows of a result.

    The two ends of an interval share a row. Identities that hold up to rounding share one as well: those of the paper,
    and those that are ours alone.
    """
    identities: dict[bool, list[Comparison]] = {True: [], False: []}  # by whether they are ours alone
    others: dict[Hashable, Row] = {}
    for c in result.comparisons:
        key = _measurement(c)
        if _is_identity(c):
            identities[c.claim is None].append(c)
        elif key in others and c.interval and not c.claim:  # the other end of an interval around a number
            others[key] = others[key]._replace(ours=f"interval contains {significant(c.expected)}")
        else:
            others.setdefault(key, _row(c))
    merged = [_merged(same) if len(same) > 1 else _row(same[0]) for same in identities.values() if same]
    return sorted([*others.values(), *merged], key=lambda row: (not row.missed, not row.paper))


def _measurement(c: Comparison) -> Hashable:
    """The same for both ends of an interval, and different for everything else that was measured."""
    return c.quantity, c.interval or (c.measured, c.relation, c.expected)


def _distinct(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """One comparison for each measurement."""
    found: dict[Hashable, Comparison] = {}
    for c in comparisons:
        found.setdefault(_measurement(c), c)
    return list(found.values())


def _is_identity(c: Comparison) -> bool:
    """Whether the comparison states that a number is 0 up to rounding, and the number is."""
    exact = c.relation == "=" and c.expected == 0 and c.standard_error is None and c.tolerance <= ROUNDING
    return exact and c.holds and (c.claim is None or c.standing is Standing.AGREES)


def _largest_error(identities: list[Comparison]) -> str:
    return significant(max(abs(c.measured) for c in identities))


def _merged(same: list[Comparison]) -> Row:
    words = "; ".join(dict.fromkeys(c.quantity for c in same))
    quantity = f'{len(same)} identities <span class="check-merged">{words}</span>'
    paper, ours = ("0", "") if same[0].claim else ("", "0")
    error = _largest_error(same)
    return Row(same[0], quantity, paper, ours, error if error == "0" else f"at most {error}")


def _row(c: Comparison) -> Row:
    if c.places:
        printed = zip((c.expected, c.measured), c.places, strict=True)
        paper = ", ".join(f"{significant(number)} in {place}" for number, place in printed)
        return Row(c, c.quantity, paper, ours="", measured="")
    by_number = c.relation == "=" and c.interval is None and c.claim != Claim("=", c.expected)
    ours = _number(c.relation, c.expected) if c.claim is None or by_number else ""
    if c.asked is not None:
        ours = f"{_number(c.relation, c.asked)}, as we had planned"
    return Row(c, c.quantity, _number(*c.claim) if c.claim else "", ours, _measured(c))


def _number(relation: str, value: float) -> str:
    return significant(value) if relation == "=" else f"{relation} {significant(value)}"


def _measured(c: Comparison) -> str:
    if c.interval:
        return within(c.interval.value, c.interval.low, c.interval.high)
    if c.standard_error is not None:
        return with_error(c.measured, c.standard_error)
    tolerance = max(ROUNDING, ROUNDING * abs(c.expected))
    if c.relation == "=" and c.tolerance > tolerance:
        return f"{significant(c.measured)} (to within {significant(c.tolerance, 2)})"
    return significant(c.measured, 6 if abs(c.measured - c.expected) <= tolerance else 4)


def _contradicted(row: Row) -> str:
    """A sentence on a number of the paper that our measurement contradicts."""
    claim, places = row.comparison.claim, row.comparison.places
    assert claim is not None  # since the paper has a number
    if places:
        here, there = (significant(number) for number in (row.comparison.expected, row.comparison.measured))
        return f"For “{typeset(row.quantity)}”, the authors give {here} in {places[0]}, but {there} in {places[1]}."
    paper = IN_WORDS[claim.relation].format(significant(claim.number))
    return f"For “{typeset(row.quantity)}”, the paper gives {paper}, but we find **{row.measured}**."


def _found(result: Result, lines: list[Row]) -> str:
    """A sentence on what our numbers say; "" where this run does not support the verdict."""
    if not result.supported:
        return ""
    if result.verdict is Verdict.UNDECIDED:
        return _not_settled(lines)
    if result.verdict is Verdict.SHORT:
        short = [row.standing for row in lines].count(Standing.SHORT)
        which = _counted(short, len(lines), "falls", "fall")
        return f"{STANDING[Standing.SHORT]} {which} short of the criterion in our plan."
    kept = _distinct(c for c in result.comparisons if c.standing is Standing.AGREES and not c.places)
    return f"{TICK} {_confirmed(result, lines, kept)}" if kept else ""


def _confirmed(result: Result, lines: list[Row], kept: list[Comparison]) -> str:
    """That the numbers ``kept`` agree with us, and that numbers of models that are too small do not count."""
    what = CONFIRMED[result.verdict]
    exact = [c for c in kept if _is_identity(c)]
    if len(exact) == len(kept):
        error = _largest_error(exact)
        words = "exactly" if error == "0" else f"up to a rounding error of {error}"
        said = f"Our computation confirms {what} {words}."
    elif len(kept) == 1:
        (row,) = [row for row in lines if row.comparison is kept[0]]
        said = f"We find {row.measured} for “{typeset(row.quantity)}”, which confirms {what}."
    elif len(kept) < len(_distinct(result.comparisons)):
        said = f"{len(kept)} numbers that we computed confirm {what}."
    else:
        every = "Both numbers" if len(kept) == 2 else f"All {len(kept)} numbers"
        said = f"{every} that we computed confirm {what}."
    if any(c.standing is Standing.TOLD for c in result.comparisons):
        said += " Numbers from models that are too small or were trained too briefly are shown, but not counted."
    return said


def _not_settled(lines: list[Row]) -> str:
    """Why a question is undecided, with the number of measurements for each reason."""
    standings = [row.standing for row in lines]
    small, wide = standings.count(Standing.TOLD), standings.count(Standing.UNDECIDED)
    reasons = []
    if small:
        who = _counted(small, len(lines), "comes", "come")
        reasons.append(f"{who} from models that are too small or were trained too briefly for a conclusion.")
    if wide:
        who = _counted(wide, len(lines), "has a confidence interval that is", "have confidence intervals that are")
        reasons.append(f"{who} compatible with both answers.")
    return f"{STANDING[Standing.UNDECIDED]} {' '.join(reasons)}" if reasons else ""


def _counted(count: int, total: int, singular: str, plural: str) -> str:
    """``All 3 measurements come``, ``1 of the 3 measurements comes``, ``The only measurement comes``, ..."""
    if total == 1:
        return f"The only measurement {singular}"
    if count == total:
        return f"{'Both' if total == 2 else f'All {total}'} measurements {plural}"
    return f"{count} of the {total} measurements {singular if count == 1 else plural}"


def _texts(result: Result) -> str:
    """What the paper states, the corrected statement, and our remark."""
    corrects = result.verdict in (Verdict.MISPRINT, Verdict.CHANGES) and not result.ours
    ours = "We correct this as follows" if corrects else "More precisely"
    texts = [
        in_the_paper(result.place, result.printed) if result.printed else "",
        f"*{ours}*: {stopped(result.corrected)}" if result.corrected else "",
        result.remark,
    ]
    return " ".join(typeset(text) for text in texts if text)


def in_the_paper(place: str, printed: str) -> str:
    """``The paper states in Section 2.3, Eq. 12: ...``, with the text that the paper prints there."""
    return f"*The paper states*{f' in {place}' if place else ''}: {stopped(printed)}"


def stopped(text: str) -> str:
    """The text with a full stop, unless it has one, perhaps inside quotation marks."""
    return text if re.search(r"[.!?][\"”]?$", text) else f"{text}."


def _frame(lines: list[Row]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "quantity": typeset(row.quantity),
            "paper": _labelled("paper", row.paper),
            "ours": _labelled("ours", row.ours),
            "measured": _labelled("measured", row.measured.replace(" ± ", "\u00a0±\u00a0")),
            "outcome": f'<span class="standing-{row.standing.name.lower()}">{row.outcome}</span>',
        }
        for row in lines
    )
    return frame.drop(columns=[name for name in ("paper", "ours", "measured") if not frame[name].any()])


def _labelled(column: str, text: str) -> str:
    """The text with its column's name, which a narrow screen shows because the head of the table is hidden there."""
    return f'<span class="check-label">{column}</span> {text}' if text else ""
