"""Wiring: the operator, the pipeline in one function, the command lines."""
