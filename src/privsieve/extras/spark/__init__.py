"""Read a frame of Spark whose rows stay on their cluster."""
