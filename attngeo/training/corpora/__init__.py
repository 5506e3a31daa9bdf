"""Text for training: where it comes from, how it becomes tokens, and in which order a model sees them.

documents.py     local files and folders -> documents
embedded.py      documents that need no network: what Python and the installed packages say of themselves
hub.py           named corpora of the Hugging Face Hub
vocabulary.py    tokenizers: trained on the corpus, local, or from the Hub
tokens.py        corpus + tokenizer -> a memory-mapped cache of token ids, split by document
blocks.py        token ids -> blocks of equal length in an order that follows from a seed
"""
