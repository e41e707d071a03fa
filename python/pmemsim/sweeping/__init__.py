"""Run sweeps: simulations of all combinations that a file asks for.

`spec.py` reads the file, `points.py` makes jobs of its combinations, `table.py` keeps their results
in a Parquet file.
"""
