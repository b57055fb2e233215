"""Rows meet a summary: monoids over batches, integers only.

Each has `of(part)` and `+`, and any cut of the rows into parts gives the same scores.  Nothing
here knows an epsilon or a noise.
"""
