"""Writes the stub of the module `_core`, which is in FOLDER: write_stub.py FOLDER.

An installed pmemsim must not be imported. stubgen imports the modules that types name, and a second
copy of `_core` would register the same types again.
"""

import runpy
import sys

sys.modules["pmemsim"] = None  # type: ignore[assignment]  # `import pmemsim` fails
folder = sys.argv[1]
sys.argv = ["stubgen", "--module", "_core", "--import", folder, "--output-dir", folder, "--quiet"]
runpy.run_module("nanobind.stubgen", run_name="__main__")
