"""What a comparison of runs looks like: a text for terminals, a JSON document, and one page of HTML."""
