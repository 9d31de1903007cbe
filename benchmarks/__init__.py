"""Measurements, as ratios within one run. None of them is a test."""
