"""A check as the book shows it: one line, which unfolds to its numbers."""

import re

from attngeo.plot.typeset import significant, typeset
from livingpaper.claims.published import of_the_paper
from livingpaper.claims.results import Comparison, Result, Standing, Verdict
from livingpaper.display.check_rows import STANDING, Row, distinct, is_identity, largest_error, rows, rows_table

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
CODE = "<!-- code of {} -->"
FIRST = 4  # rows of numbers that an open check shows; a single further row is shown as well
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


def check_line(result: Result, unfolded: bool = False) -> str:
    """The check in MyST and HTML: a line that unfolds to what the paper states, the numbers and their code.

    An unfolded check shows its code above the numbers that the code computes.
    """
    lines = rows(result)
    name = ("Our statement on " if result.ours else "") + of_the_paper(result.statement, result.part)
    said = f"**{name}.** {stopped(typeset(result.title[:1].upper() + result.title[1:]))}"
    if lines[:1] and lines[0].missed:  # `rows` puts contradicted numbers first
        said += f" {_contradicted(lines[0])}"
    count = len(distinct(result.comparisons))
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
        return rows_table(lines)
    more = f"<details><summary>See {len(lines) - first} more numbers</summary>"
    return "\n\n".join([_numbers(lines[:first]), more, _numbers(lines[first:]), "</details>"])


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
    kept = distinct(c for c in result.comparisons if c.standing is Standing.AGREES and not c.places)
    return f"{TICK} {_confirmed(result, lines, kept)}" if kept else ""


def _confirmed(result: Result, lines: list[Row], kept: list[Comparison]) -> str:
    """That the numbers ``kept`` agree with us, and that numbers of models that are too small do not count."""
    what = CONFIRMED[result.verdict]
    exact = [c for c in kept if is_identity(c)]
    if len(exact) == len(kept):
        error = largest_error(exact)
        words = "exactly" if error == "0" else f"up to a rounding error of {error}"
        said = f"Our computation confirms {what} {words}."
    elif len(kept) == 1:
        (row,) = [row for row in lines if row.comparison is kept[0]]
        said = f"We find {row.measured} for “{typeset(row.quantity)}”, which confirms {what}."
    elif len(kept) < len(distinct(result.comparisons)):
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
