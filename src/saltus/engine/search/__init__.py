"""Where chains start and end: descents, pruning and hops."""
