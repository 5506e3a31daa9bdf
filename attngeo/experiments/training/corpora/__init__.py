"""Text for training: documents of a corpus (`registry`), their tokens (`vocabulary`, `tokens`)."""
