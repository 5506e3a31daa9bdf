"""The paper's experiments: training, recorded runs, the survey of models, and their commands."""
