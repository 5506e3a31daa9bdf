"""What a page is made of: claims and their verdicts, tables, numbers for the prose."""
