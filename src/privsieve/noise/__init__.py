"""Noise, from one source: top-k selections, numbers and vectors, and their costs."""
