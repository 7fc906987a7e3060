"""The edges: files, tables, models, configuration, and the door to slow computations."""
