"""Versions of the policy, how far one has spread, rollouts and what-if simulations."""
