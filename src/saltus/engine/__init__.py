"""The engine: the edit algebra, the moves, the chain, and the drivers that run it."""
