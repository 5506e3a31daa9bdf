"""How much faster than the released way, and how much faster one product alone is."""

import pandas as pd

from attngeo.display.style import ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure


@house_style()
def ratios(layers: pd.DataFrame, name: str = "fig-cost-ratios") -> CaptionedFigure:
    """Times as fast as the released way over the width, ours and one product alone, a panel per type.

    Args:
        layers: as `attngeo.chapters.cost.measured.layers` gives them.
        name: label of the figure.
    """
    figure, panels = new_figure(6.4, 3.2, columns=2, sharey=True)
    one_key_each = layers[layers["heads"] == layers["key_heads"]]
    for panel, dtype in zip(panels, ("float32", "bfloat16"), strict=True):
        found = one_key_each[one_key_each["dtype"] == dtype].sort_values("d")
        panel.plot(found["d"], found["alone"], "--", color=NEUTRAL, marker="_", label="one product alone")
        panel.plot(found["d"], found["ratio"], "-", color=ENCODER, marker="o", label="attngeo")
        panel.axhline(1, color="black", linewidth=0.8)
        panel.set(title=f"{dtype} factors", xlabel="width d", xscale="log", yscale="log")
        panel.set_xticks(found["d"], [str(d) for d in found["d"]])
        panel.set_yticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
        panel.minorticks_off()
    panels[0].set_ylabel("times as fast as\nthe released way")
    panels[0].legend(loc="upper right")
    wide = one_key_each[one_key_each["d"] == one_key_each["d"].max()].set_index("dtype")
    said = " and ".join(
        f"{row['ratio']:.1f} in {dtype} (one product alone {row['alone']:.1f})" for dtype, row in wide.iterrows()
    )
    return CaptionedFigure(
        figure,
        name,
        "Both scores of a layer's summed form, in multiples of the speed of the released way (line at 1). Dashed: "
        f"one product of two square matrices of that type, and nothing else. At $d = "
        f"{wide['d'].iloc[0]}$: {said}.",
        "Two line plots of speed over width, float32 and bfloat16, each with a dashed line for one product alone. At "
        f"the largest width the speed is {said}.",
    )
