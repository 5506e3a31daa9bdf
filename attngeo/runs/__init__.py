"""Training runs on disk and what several of them say together: the record, arms that differ in their seed, contrasts
between arms with their intervals, and how such numbers are worded.
"""
