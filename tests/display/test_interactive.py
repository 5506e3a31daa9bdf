import base64
import json

import numpy as np
import pytest

from attngeo.display.interactive import Interactive, container, packed
from attngeo.display.style import CaptionedFigure, new_figure
from attngeo.errors import ParameterError

STILL = CaptionedFigure(new_figure(3, 2)[0], "fig-still", "Caption.", "Nothing.")


def test_it_shows_its_still_and_carries_its_data():
    data, metadata = Interactive("two_words", {"x": [1, 2]}, STILL)._repr_mimebundle_()
    assert data["image/svg+xml"] == STILL.svg()
    assert metadata["attngeo"]["figure"]["name"] == "fig-still"
    assert metadata["attngeo"]["interactive"] == {"name": "two_words", "data": {"x": [1, 2]}}


@pytest.mark.parametrize("name, data", [("Two", {}), ("two-words", {}), ("a", {"x": float("nan")}), ("a", {"x": {1}})])
def test_a_bad_name_and_what_json_cannot_hold_are_refused(name, data):
    with pytest.raises(ParameterError):
        Interactive(name, data, STILL)


def test_text_in_the_data_cannot_end_the_script():
    page = container("a", {"x": "</script><b>"}, "fig-a")
    text = page.partition('json">')[2].partition("</script>")[0]
    assert json.loads(text) == {"x": "</script><b>"}


def test_levels_are_packed_byte_by_byte():
    levels = np.array([[-127, 0], [1, 127]], dtype=np.int8)
    assert list(base64.b64decode(packed(levels))) == [129, 0, 1, 127]
    with pytest.raises(ParameterError):
        packed(levels.astype(float))
