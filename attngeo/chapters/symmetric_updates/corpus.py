"""Section S1.4.5 beyond one sequence: what a corpus makes of the pairs in either objective."""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.symmetric_updates.first_update import ChainCorpus, first_update, pair_counts, random_corpus
from attngeo.chapters.symmetric_updates.shifted_queries import expected_update, updates_one_behind
from attngeo.errors import ParameterError
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Judgement, check, compare, exact, monte_carlo
from attngeo.updates.objectives import Objective, attended_matrix, context_matrix


def corpus_symmetry(corpus: ChainCorpus, sizes: Sequence[int]) -> pd.DataFrame:
    """Symmetry of `first_update` over the first sequences of a corpus, by their number: setting, n_sequences, symmetry.

    V is made symmetric unless the setting says otherwise.

    Raises:
        ParameterError: no size, or one below 1 or above the corpus's.
    """
    embeddings, values, tokens = corpus.embeddings, corpus.values, corpus.tokens
    n_sequences, n_tokens = tokens.shape
    if not sizes or min(sizes) < 1 or max(sizes) > n_sequences:
        raise ParameterError(f"a part of the corpus has at least one sequence; give sizes from 1 to {n_sequences}.")
    both = context_matrix(Objective.BIDIRECTIONAL, n_tokens)
    before = context_matrix(Objective.AUTOREGRESSIVE, n_tokens)
    symmetric = values + values.T
    cases = {
        "bidirectional": (symmetric, both, 0),
        "autoregressive, query holds the target": (symmetric, before, 0),
        "autoregressive, query one behind": (symmetric, attended_matrix(Objective.AUTOREGRESSIVE, n_tokens), 1),
        "bidirectional, V not symmetric": (values, both, 0),
    }
    rows = []
    for size in sizes:
        for name, case in cases.items():
            rows.append((name, size, symmetry_score(first_update(tokens[:size], embeddings, *case).sum(0))))
        rows.append(("order of the pairs", size, symmetry_score(pair_counts(tokens[:size], before, len(embeddings)))))
    return pd.DataFrame(rows, columns=["setting", "n_sequences", "symmetry"])


@check(random_corpus)
def symmetry_over_a_corpus(corpus: ChainCorpus) -> Judgement:
    """Theorem 2.4's contrast: over a corpus autoregressive pairs reach the same symmetry, unless queries lag behind."""
    n_sequences, n_tokens = corpus.tokens.shape
    s = corpus_symmetry(corpus, (1, n_sequences)).set_index(["setting", "n_sequences"])["symmetry"]
    tied = corpus._replace(values=corpus.values + corpus.values.T)
    behind, expected = updates_one_behind(tied), expected_update(tied.chain, tied.embeddings, tied.values, n_tokens)
    along = (behind * expected).sum((1, 2)) / expected.square().sum()
    return Judgement(
        exact("bidirectional", s["bidirectional", 1], 1, 1e-9),
        compare("one sequence", s["autoregressive, query holds the target", 1], "<", 0.7),
        compare("corpus", s["autoregressive, query holds the target", n_sequences], ">", 0.9),
        compare("counts", s["order of the pairs", n_sequences], ">", 0.9),
        compare("behind", s["autoregressive, query one behind", n_sequences], "<", 0.7),
        monte_carlo("expected", along, 1),
        n_sequences=n_sequences,
    )
