"""Where the book treats what the paper numbers."""

from attngeo.book.notebooks import find_book
from attngeo.book.paper_links import places
from attngeo.chapters.status.nodes import content, nodes, stated
from attngeo.claims.published import statements


def chapters():
    return {chapter.name: chapter.text for chapter in find_book().chapters()}


def test_the_titles_of_blocks_and_the_map_agree():
    found = places({f"notebooks/{name}": text for name, text in chapters().items()}, statements())
    numbered = [n for n in nodes(statements(), content(), stated(chapters())).values() if n.number and n.label]
    ours = {n.number: (f"notebooks/{n.page}", n.label) for n in numbered if found[n.number][1]}
    assert len(ours) > 25 and ours == {number: found[number] for number in ours}


def test_what_no_block_states_is_with_its_statement_or_in_its_chapter():
    listed = statements()
    found = places({"notebooks/two_scores": "# {prf:definition} Def. 3.2 of the paper: d\n# :label: def-d"}, listed)
    assert found["3.2"] == found["Eq. 17"] == found["Eq. 19"] == ("notebooks/two_scores", "def-d")
    assert found["3.1"] == found["Section S1.6"] == ("notebooks/two_scores", "")
    assert "2.4" not in found  # its chapter is not there


def test_of_two_blocks_the_one_without_a_part_counts_and_a_range_is_all_of_it():
    title = "# ```{prf:proposition} {} of the paper: t\n# :label: {}\n"
    texts = [("Prop. 3.1 (3)", "p-3"), ("Prop. 3.1 (1) and (2)", "p"), ("to Prop. 3.1", "x"), ("Eqs. S9 to S11", "e")]
    page = "".join(title.replace("{}", number, 1).replace("{}", label) for number, label in texts)
    found = places({"notebooks/one": page}, statements().assign(chapter="one"))
    assert found["3.1"][1] == "p" and {found[f"Eq. {n}"][1] for n in ("S9", "S10", "S11")} == {"e"}
