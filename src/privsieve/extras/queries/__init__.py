"""Read the rows of a SQL query by DuckDB."""
