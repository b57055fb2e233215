"""Choose and publish columns: k-anonymity by containment.

The group of a row are the rows that hold every column of S that the row holds.  A set S of
yes-or-no columns is feasible if each group has at least k rows.  This guarantee needs no noise and
no epsilon, and never adds to a budget.
"""
