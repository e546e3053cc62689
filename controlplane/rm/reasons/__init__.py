"""Why groups wait: which reasons to work out, and how they are said."""
