"""Histogram: a noisy table of counts over few columns, its margins, and synthetic rows."""
