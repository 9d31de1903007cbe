"""Waves: sinusoids along a direction, with a cosine and a sine each."""
