"""Training runs on disk and what several of them say together: the record (`record`), arms that differ in their seed
(`arms`), contrasts between arms with their intervals (`estimates`), and how such numbers are worded.

Nothing is imported here: a training that records itself needs no statistics.
"""
