"""What the paper prints (statements, tables, curves), and what a check of it is: numbers compared, and a verdict."""

from attngeo.paper.results import Comparison, Result
from attngeo.paper.verdict import Verdict

__all__ = ["Comparison", "Result", "Verdict"]
