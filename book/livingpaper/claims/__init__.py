"""What the paper prints (statements, tables, curves), and what a check of it is: numbers compared, and a verdict."""

from livingpaper.claims.results import Comparison, Result, Verdict

__all__ = ["Comparison", "Result", "Verdict"]
