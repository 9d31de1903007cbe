"""Chains in parallel: rounds, sampling, stopping and checkpoints."""
