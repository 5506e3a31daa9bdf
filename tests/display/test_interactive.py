import base64
import json

import numpy as np
import pytest
from livingpaper.display.interactive import Interactive, container, packed

from attngeo.plot.style import CaptionedFigure, new_figure

STILL = CaptionedFigure(new_figure(3, 2)[0], "fig-still", "Caption.", "Nothing.")


def test_it_shows_its_still_and_carries_its_data():
    data, metadata = Interactive("two_words", {"x": [1, 2]}, STILL)._repr_mimebundle_()
    assert data["image/svg+xml"] == STILL.svg() and metadata["attngeo"]["figure"]["name"] == "fig-still"
    assert metadata["attngeo"]["interactive"] == {"name": "two_words", "data": {"x": [1, 2]}}
    for unfit in (float("nan"), {1}):
        with pytest.raises((TypeError, ValueError)):
            Interactive("a", {"x": unfit}, STILL)._repr_mimebundle_()


def test_text_in_the_data_cannot_end_the_script_and_levels_are_packed_byte_by_byte():
    page = container("a", {"x": "</script><b>"}, "fig-a")
    assert json.loads(page.partition('json">')[2].partition("</script>")[0]) == {"x": "</script><b>"}
    levels = np.array([[-127, 0], [1, 127]], dtype=np.int8)
    assert list(base64.b64decode(packed(levels))) == [129, 0, 1, 127]
    with pytest.raises(TypeError):
        packed(levels.astype(float))
