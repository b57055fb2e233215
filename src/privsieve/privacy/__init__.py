"""Noise, mechanisms, accounting, certificates, checks."""
