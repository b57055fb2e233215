"""Telling: documents, and renderers that can show any document."""
