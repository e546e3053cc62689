"""Life cycles as pure state machines: events in, instructions out."""
