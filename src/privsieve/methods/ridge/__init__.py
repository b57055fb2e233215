"""Least squares: one charge, then predictions for nothing."""
