"""Show the holder of a table what each k costs, and what published folders tell together."""
