"""Writes the stub of a module: write_stub.py FOLDER, which has `_core`.

An installed pmemsim stays out of it: stubgen imports what types name, and a second module would
register the same types once more.
"""

import runpy
import sys

sys.modules["pmemsim"] = None  # type: ignore[assignment]  # an import of it fails
folder = sys.argv[1]
sys.argv = ["stubgen", "--module", "_core", "--import", folder, "--output-dir", folder, "--quiet"]
runpy.run_module("nanobind.stubgen", run_name="__main__")
