"""Who gives up running containers, which ones, and for whom."""
