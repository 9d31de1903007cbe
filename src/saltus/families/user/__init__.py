"""Families that a user writes in NumPy: the library evaluates them through a call back into Python."""
