"""Extras: parts that most users do not need, each in a folder with its tests and its page.

The core imports none of them; `privsieve.entries` says where each begins.
"""
