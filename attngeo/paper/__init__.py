"""What the paper prints (statements, tables, curves), and what a check of it is: numbers compared, and a verdict."""

from attngeo.paper.checks import CLAIMS, Comparison, Flaw, Result, Verdict

__all__ = ["CLAIMS", "Comparison", "Flaw", "Result", "Verdict"]
