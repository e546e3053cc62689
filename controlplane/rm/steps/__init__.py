"""What a round does, step by step: each takes the memory and adds to the round's changes."""
