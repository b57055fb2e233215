"""The convex problem of local learning: its minimiser, and the largest effect of one row.

Arrays and public numbers only: nothing here knows an epsilon's budget, a domain or a noise.
"""
