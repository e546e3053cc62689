"""Sub-clusters: their life, their load, what they did lately, and which a job may be sent to."""
