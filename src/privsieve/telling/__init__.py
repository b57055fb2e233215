"""Telling: documents, and what shows any of them.  No renderer knows what it shows."""
