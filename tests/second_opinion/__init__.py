"""A second opinion on what plans decide: the same figures by other code, for tests alone."""
