"""Who leads, and what a leader does from one moment to the next; rebuilding, handing over, burying."""
