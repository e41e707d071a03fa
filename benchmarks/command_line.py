"""The command line that the scripts of this folder share."""

from __future__ import annotations

import argparse

from pmemsim.bench import WORKLOADS
from pmemsim.errors import Error
from pmemsim.workloads import find_workload


def chosen_workloads(about: str | None) -> list[str]:
    """Return the workloads that the command line names; `about` is what `--help` prints."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"default: {', '.join(WORKLOADS)}"
    )
    names: list[str] = parser.parse_args().workloads or list(WORKLOADS)
    try:
        for name in names:
            find_workload(name)
    except Error as error:
        parser.error(str(error))
    return names
