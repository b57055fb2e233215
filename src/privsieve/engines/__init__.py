"""Engines: where rows meet summaries.  `local` holds integer codes in memory."""
