"""The command line that the scripts of this folder share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pmemsim.bench import WORKLOADS
from pmemsim.errors import Error
from pmemsim.workload_runs import find_workload


def chosen_workloads(about: str | None, default: Sequence[str] = WORKLOADS) -> list[str]:
    """Return the workloads that the command line names; `about` is what `--help` prints."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"default: {', '.join(default)}"
    )
    names: list[str] = parser.parse_args().workloads or list(default)
    try:
        for name in names:
            find_workload(name)
    except Error as error:
        parser.error(str(error))
    return names
