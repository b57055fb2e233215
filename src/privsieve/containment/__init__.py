"""Columns that may be published: k-anonymity by containment.

A set S of yes-or-no columns is feasible if every row's group has at least k rows: those that hold
everything of S that the row holds.  No noise is here, and no epsilon: this guarantee is of
another kind, and never adds to a budget.
"""
