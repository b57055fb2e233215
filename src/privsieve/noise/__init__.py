"""Noise, from one source: races, scalars and vectors, and what each costs."""
