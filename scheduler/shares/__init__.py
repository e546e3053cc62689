"""What each queue may use."""
