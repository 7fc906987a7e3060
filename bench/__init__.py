"""Measurements beside what a user would pick instead; every number here is reproduced by one command."""
