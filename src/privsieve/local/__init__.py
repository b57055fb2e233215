"""Local learning's convex problem: its minimiser, and how far one row can move it.

Arrays and public numbers only: nothing here knows an epsilon's budget, a domain or a noise.
"""
