"""What a chapter's page shows: tables, checks, glued numbers, verdicts, and figures in the house style."""

from attngeo.display.page import badge, glue, show, table

__all__ = ["badge", "glue", "show", "table"]
