"""Find the writes that PMWeaver does not predict in the programs of its paper.

    .venv/bin/python benchmarks/pmweaver_coverage.py [FIGURE]

Runs the paper's programs as its figure 22 does, and prints two tables of each: the outcome of the
writes, and the learner's knowledge of the flushed lines. Then it prints source lines of stores that
precede write-backs of an address that no earlier store contains. FIGURE (.svg, .png, .pdf) gets
both tables as bars.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

import pmemsim
from pmemsim.plots import save
from pmemsim.predictability import ALL_STORES, Predictability, predictability, share_found
from pmemsim.recording import record_workload
from pmemsim.reproduction.papers import load_paper

PAPER = load_paper("pmweaver")
EXPERIMENT = PAPER.experiments["fig22"]
WRITES = {
    "right, from stores": ["pmweaver.right_by_stores"],
    "right, by the timeout": ["pmweaver.right_by_timeout"],
    "the address alone": ["pmweaver.address_right"],
}
MOST_LINES = 3
"""Number of source lines that are printed for each program."""


def of_writes(stats: pd.Series[float]) -> dict[str, float]:
    """Outcomes of the writes to PM, as shares."""
    shares = {what: stats[names].sum() / stats["backend.writes"] for what, names in WRITES.items()}
    return {**shares, "not predicted": 1 - sum(shares.values())}


def of_write_backs(stats: pd.Series[float], ideal: Predictability) -> dict[str, float]:
    """The learner's knowledge of the flushed lines, as shares."""
    nowhere = 1 - share_found(ideal.total, ALL_STORES, "address")
    flushed = stats["pmweaver.write_backs"]
    address, data = (stats[f"pmweaver.{what}_unknown"] / flushed for what in ("address", "data"))
    return {
        "learnt from": 1 - address - data,
        "data gone from the history": data,
        "address gone from the history": address - nowhere,
        "address in no store": nowhere,
    }


def print_lines(name: str, ideal: Predictability) -> None:
    """Print the source lines with the most write-backs of an address that no store contains."""
    missing = sorted(
        ((found.write_backs - found.in_all_stores.address, place) for place, found in
         ideal.by_line),
        key=lambda line: -line[0],
    )  # fmt: skip
    for count, place in missing[:MOST_LINES]:
        if count:
            print(f"{name}: {count / ideal.total.write_backs:.1%} {place}")


def draw(accounts: list[pd.DataFrame], figure: Figure) -> None:
    """Draw the two tables as two charts, with a bar for each program."""
    for axes, account, of in zip(
        figure.subplots(2, 1), accounts, ("writes", "write-backs"), strict=True
    ):
        (100 * account.T).plot.bar(stacked=True, ax=axes, width=0.8, rot=0)
        axes.set_xticklabels(axes.get_xticklabels(), rotation=20, ha="right")
        axes.set_ylabel(f"{of} (%)")
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def main() -> None:
    """Run all programs."""
    writes, write_backs = {}, {}
    for benchmark in EXPERIMENT.benchmarks:
        case = PAPER.case(
            EXPERIMENT, EXPERIMENT.designs[0], EXPERIMENT.points[0], benchmark, 1, "quick"
        )
        assert case.design is not None
        trace = record_workload(case.run)
        stats = pmemsim.run(
            trace, design=case.design, machine=case.machine, overrides=dict(case.settings)
        ).stats
        ideal = predictability(trace)
        writes[benchmark.name] = of_writes(stats)
        write_backs[benchmark.name] = of_write_backs(stats, ideal)
        print_lines(benchmark.name, ideal)
    accounts = [pd.DataFrame(writes), pd.DataFrame(write_backs)]
    for account in accounts:
        account["mean"] = account.mean(axis=1)
        print(account.T.to_string(float_format="{:.3f}".format))
    if len(sys.argv) > 1:
        save(lambda figure: draw(accounts, figure), Path(sys.argv[1]), (7.0, 7.5))


if __name__ == "__main__":
    main()
