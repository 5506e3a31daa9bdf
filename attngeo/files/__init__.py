"""Files that are old or new and never half, where they lie in a checkout, and what they were made with."""
