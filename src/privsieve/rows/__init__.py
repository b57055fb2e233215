"""Sources: any table becomes batches of integers on the domain's public grid.

Structure first (`open_source`, `Source.shape`, `resolve`): public, before the charge, with errors
in words.  Then the body (`batch.batches`): total, silent, each code a function of its own cell.
"""

from privsieve.rows.source import RawColumn, Source, open_source, resolve

__all__ = ["RawColumn", "Source", "open_source", "resolve"]
