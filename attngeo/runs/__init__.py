"""Training runs on disk and what several of them say together: the record, arms that differ in their seed, contrasts
between arms with their intervals, and how such numbers are worded.
"""

from attngeo.runs.arms import Arm, Contrast, contrasts
from attngeo.runs.estimates import Estimate, over_seeds
from attngeo.runs.record import Run, RunError, read_run, read_runs

__all__ = ["Arm", "Contrast", "Estimate", "Run", "RunError", "contrasts", "over_seeds", "read_run", "read_runs"]
