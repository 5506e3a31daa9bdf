"""What the paper prints (statements, tables, curves), and what a check of it is: numbers compared, and a verdict."""

from attngeo.paper.checks import Comparison, Judgement, Result, check
from attngeo.paper.wording import Verdict

__all__ = ["Comparison", "Judgement", "Result", "Verdict", "check"]
