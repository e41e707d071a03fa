"""Functions for Python programs, each with the meaning of the command of its name."""
