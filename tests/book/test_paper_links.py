"""Where the book treats what the paper numbers."""

from attngeo.book.notebooks import find_book
from attngeo.book.paper_links import places
from attngeo.chapters.status.nodes import content, nodes, stated
from attngeo.claims.published import statements


def test_the_titles_of_blocks_and_the_map_agree():
    texts = {chapter.name: chapter.text for chapter in find_book().chapters()}
    found = places({f"notebooks/{name}": text for name, text in texts.items()}, statements())
    numbered = [n for n in nodes(statements(), content(), stated(texts)).values() if n.number and n.label]
    ours = {n.number: (f"notebooks/{n.page}", n.label) for n in numbered if found[n.number][1]}
    assert len(ours) > 20 and ours == {number: found[number] for number in ours}
    assert found["2.4"] == found["S1.14"]  # the informal form


def test_what_no_block_states_is_with_its_statement_or_in_its_chapter():
    text = "# {prf:definition} Def. 3.2 of the paper: d\n# :label: def-3-2\n"
    found = places({"notebooks/two_scores": text + text.replace("2\n", "2-more\n")}, statements())
    assert found["3.2"] == found["Eq. 17"] == found["Eq. 19"] == ("notebooks/two_scores", "def-3-2")
    assert found["3.1"] == found["Section S1.6"] == ("notebooks/two_scores", "")
    assert "2.4" not in found  # its chapter is not there
