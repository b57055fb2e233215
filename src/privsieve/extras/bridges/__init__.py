"""Export a table to sdcMicro and ARX, and read their result back.

Nothing here generalises a row: search of hierarchies, local suppression, microaggregation and PRAM
are the work of the other tools.
"""
