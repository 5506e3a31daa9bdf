"""Training with an initialisation: configuration, BERT as encoder or decoder, targets, constraints, trainer, recorder.

`corpora` turns text into blocks of tokens. What a run leaves on disk is read by the room `runs`. Nothing is imported
here: no --help waits for torch.
"""
