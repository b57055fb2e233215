"""Least squares with a kernel: models and answers that leave with noise."""
