"""Bridges: a table in the forms of sdcMicro and ARX, and back what they made of it.

What is theirs (hierarchies that are searched, local suppression, microaggregation, PRAM) stays
theirs: nothing here generalises a row.
"""
