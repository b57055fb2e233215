"""Least squares: one charge, then predictions for nothing; a formula, or a session."""
