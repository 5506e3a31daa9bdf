"""What a chapter's page shows: tables, checks, glued numbers, verdicts, and figures in the house style."""
