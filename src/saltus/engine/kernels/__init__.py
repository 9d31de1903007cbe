"""What a chain does, compiled: the edit algebra, the moves, steps, and the sampler's Gibbs steps."""
