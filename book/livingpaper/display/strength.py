"""How sure a finding is, in a word or two beside it: the labels of the reading path."""

STRENGTHS = {
    "proven": "We prove this result, and we check the formulas of the proof on small examples.",
    "solid": "This result was observed in many published models. It remains true if each family of models is counted"
    " only once.",
    "in small models": "We obtained this result with models that we trained ourselves. These models are much"
    " smaller than those used in practice.",
    "measured, unexplained": "This result was observed in released models, but we do not know its cause.",
    "not shown": "The evidence is not sufficient to answer this question.",
}


def strength(label: str) -> str:
    """An outlined label such as *in small models*, which explains itself on hover and focus (HTML).

    Args:
        label: one of `STRENGTHS`.

    Raises:
        KeyError: there is no such label.
    """
    name = label.replace(",", "").replace(" ", "-")
    return f'<span class="strength strength-{name}" tabindex="0" data-means="{STRENGTHS[label]}">{label}</span>'
