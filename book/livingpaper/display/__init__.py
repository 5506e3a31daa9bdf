"""What a chapter's page shows: tables, checks, glued numbers, verdicts and interactive figures."""
