"""The methods of the papers as printed, to compare with: for experiments and tests only.

Nothing here makes a certificate, spends a budget or is offered by the package.  Where a paper's
words and its pseudocode or its numbers differ, the docstring says which reading is taken and why.
"""
