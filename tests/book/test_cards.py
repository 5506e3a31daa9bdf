"""What the cards of links and symbols show; a browser shows them in test_sphinx."""

import pytest
from cards import element, from_root, symbols

TABLE = """<table class="table"><thead><tr class="row-odd"><th><p>symbol</p></th></tr></thead><tbody>
<tr class="row-even"><td><p><span class="math">\\(d\\)</span>, <span class="math">\\(d_h\\)</span></p></td>
<td><p></p></td>
<td><p>width of the embedding, and of a head</p></td>
</tr>
<tr class="row-odd"><td><p><span class="math">\\(W_q, W_k\\)</span></p></td>
<td><p><span class="math">\\((d, H d_h)\\)</span></p></td>
<td><p>queries and keys, <a href="notebooks/a.html#def">defined here</a></p></td>
</tr>
</tbody></table>"""


def test_symbols_with_one_meaning_have_that_of_their_row():
    found = symbols(f"<p>before</p>{TABLE}<table><tr><td>another</td></tr></table>")
    assert list(found) == ["d_h", "W_q", "W_k"] and found["W_q"] == found["W_k"]
    assert found["d_h"].endswith("</span>: width of the embedding, and of a head</p>")
    assert 'href="ROOT/notebooks/a.html#def"' in found["W_q"]
    assert symbols("") == {}


def test_an_element_ends_where_it_is_closed():
    html = '<div id="a"><div class="proof" id="b"><div>one</div> two</div> three</div>'
    assert element(html, "div", "b") == '<div class="proof" id="b"><div>one</div> two</div>'
    with pytest.raises(ValueError, match=r"^The element a is not closed\.$"):
        element(html.removesuffix("</div>"), "div", "a")


def test_addresses_start_at_the_root_of_the_book():
    html = '<img src="../_images/a.svg"><a href="b.html#c"></a><a href="#d"></a><a href="https://e.org"></a>'
    expected = '<img src="ROOT/_images/a.svg"><a href="ROOT/notebooks/b.html#c"></a><a href="#d"></a>'
    assert from_root("notebooks/a.html", html) == expected + '<a href="https://e.org"></a>'
