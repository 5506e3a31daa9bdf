"""A claim: its comparisons, what the paper has for them, and words that go with its verdict."""

import pytest
import torch
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from claim_code import NotebookCode, with_code
from jaxtyping import Float, jaxtyped
from livingpaper.claims.claim import Verdict, claim, compare, exact
from livingpaper.claims.results import WordingError
from livingpaper.display.check_line import check_line
from notebook_code import claims_of, definitions

SLIP = {"printed": '"two"', "place": "Eq. 1", "holds": "one"}


def one_and_two(**more):
    yield exact("one", 1, 1, **more)
    yield compare("two", 2, "≠", 1)


def claims(verdict, **words):
    return [c.claim for c in claim("2.1", "", "a title", verdict, **words)(one_and_two)().comparisons]


def test_what_the_paper_claims_follows_from_the_verdict_or_is_said():
    assert claims(Verdict.HOLDS) == [("=", 1), ("≠", 1)]
    assert claims(Verdict.MISPRINT, **SLIP) == [None, ("=", 1)]
    assert claims(Verdict.HOLDS, ours=True) == [None, None]
    said = claim("2.1", "", "a title", Verdict.HOLDS)(one_and_two)
    assert said(paper="> 3").comparisons[0].claim == (">", 3) and said(paper="").comparisons[0].claim is None
    with pytest.raises(WordingError):
        said(paper="about 3")
    assert said().supported and said().source == "one_and_two" and said().to_dict()["statement"] == "2.1"


def returning(**words):
    def judged(n=2):
        yield exact("one", 1, 1)
        return words

    return claim("2.1", "", "a title")(judged)


def test_words_that_hold_a_number_are_returned():
    result = returning(verdict=Verdict.MISPRINT, **SLIP | {"holds": f"it is\n  {1:.0f}"})()
    assert result.verdict is Verdict.MISPRINT and result.corrected == "it is 1"


def test_less_than_a_plan_asked_is_said_of_plans_of_ours_alone_and_says_what_was_asked():
    claim("2.1", "", "a title", Verdict.SHORT, remark="We had asked for 0.2.", ours=True)(one_and_two)()
    for words in ({"remark": "We had asked for 0.2."}, {"ours": True}):
        with pytest.raises(WordingError):
            claim("2.1", "", "a title", Verdict.SHORT, **words)(one_and_two)()


def test_a_statement_of_ours_that_is_undecided_has_nothing_to_quote():
    claim("2.1", "", "a title", Verdict.UNDECIDED, remark="The models are small.", ours=True)(one_and_two)()
    with pytest.raises(WordingError):
        claim("2.1", "", "a title", Verdict.UNDECIDED, remark="The models are small.")(one_and_two)()


@pytest.mark.parametrize("words", [{}, {"verdict": Verdict.MISPRINT}, {"verdict": Verdict.HOLDS, "held": "no word"}])
def test_words_that_do_not_go_with_a_verdict_are_refused(words):
    with pytest.raises(WordingError):
        returning(**words)()


def test_claims_are_read_from_a_notebook_without_running_it():
    written = claims_of("constraints_details")["skew_constraint"]
    assert written[:2] == ("Eq. S148", "(minimum)") and written.verdict is Verdict.MISPRINT
    assert claims_of("nothing") == {}


PAGE = [
    "from functools import cache, partial\nimport torch\nA = 1\n\ndef used(n): return A, torch.e\n\ndef unused(): pass",
    '@claim("2.1", "", "t")\n@cache\ndef one_and_two(n=1):\n    yield used(n)\n\nshow(one_and_two(n=max(n, 2)))',
]


def test_a_line_unfolds_to_the_code_of_its_claim_as_it_is_called_and_to_what_that_uses():
    result = claim("2.1", "", "a title", Verdict.HOLDS)(one_and_two)()
    text = with_code(check_line(result), NotebookCode.of(PAGE, {"n": 7}))
    assert (
        "```python\n@cache\ndef one_and_two(n=1):\n    yield used(n)\n\n\nlist(one_and_two(n=max(7, 2)))\n```" in text
    )
    imports = "from functools import cache\nimport torch"
    assert f"```python\n{imports}\n\n\nA = 1\n\n\ndef used(n): return A, torch.e\n```" in text and "unused" not in text
    opened = with_code(check_line(result, unfolded=True), NotebookCode.of(PAGE, {"n": 7}))
    assert '<details class="check" open>' in opened and opened.index("yield used") < opened.index("| quantity")


def test_a_notebook_gives_its_definitions_alone_with_their_shapes_checked():
    text = 'n: int = 1\nN = 2\nshown = f(3)\nshow(4)\ndef f(x: Float[Tensor, "n n"]): return x'
    module = {"_checked": jaxtyped(typechecker=beartype), "Float": Float, "Tensor": torch.Tensor}
    exec(compile(definitions(text), "page", "exec"), module)
    assert (module["n"], module["N"]) == (1, 2) and "shown" not in module
    with pytest.raises(BeartypeCallHintViolation):
        module["f"](torch.ones(2, 3))
