"""How sure a finding is, in a word or two beside it: the labels of the reading path."""

STRENGTHS = {
    "proven": "We give a proof, and a check of its formulas on small examples.",
    "solid": "The result was found in many models and does not depend on how we count.",
    "in small models": "The result was found in models that we trained, which are much smaller than those in use.",
    "measured, unexplained": "The result was measured in released models. We do not know its cause.",
    "not shown": "The evidence does not settle this question.",
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
