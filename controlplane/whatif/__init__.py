"""What-if simulations, in processes of their own: the recorded history under another policy, or a drain from now on."""
