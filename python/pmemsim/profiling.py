"""Profile a run: its time by source line, call path and cause."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pmemsim import _core
from pmemsim.files import replacing, write_json
from pmemsim.installation import version
from pmemsim.results import Plot, Results
from pmemsim.simulation import Configuration, Progress, Result, result_of
from pmemsim.trace import Place, Trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLOTTED_LINES, _PLOTTED_CAUSES = 10, 7


@dataclass(frozen=True)
class Row:
    """A part of the cores' time, which is all of one cause at one line with one call path."""

    calls: tuple[Place, ...]
    """The line, then the lines that call its function."""
    cause: str
    account: str
    """The time is part of the statistic `stall.ACCOUNT_ns`."""
    lock: bool
    """Whether other threads waited for a lock while its holder stalled here."""
    time_ps: int

    @property
    def label(self) -> str:
        """Return the cause as tables show it."""
        return f"lock: {self.cause}" if self.lock else self.cause

    def to_dict(self) -> dict[str, Any]:
        """Return the row as `--json` writes it."""
        return {
            **self.calls[0].to_dict(),
            "cause": self.cause,
            "account": self.account,
            "lock": self.lock,
            "time_ns": self.time_ps / 1000,
            "calls": [place.to_dict() for place in self.calls[1:]],
        }


@dataclass(frozen=True)
class Profile(Results, Plot["Axes"]):
    """The time of all cores of a run together, divided into rows, the longest first.

    Example:
        `pmemsim.profile("queue", design="sw-undo", machine="asap").by_cause().most_common(3)`
    """

    result: Result
    """The run's measurements."""
    rows: tuple[Row, ...] = field(repr=False)
    """The parts of the time."""
    command: ClassVar = "profile"

    @property
    def title(self) -> str:
        """Name the run, with its simulated time."""
        return self.result.title

    @cached_property
    def time_ps(self) -> int:
        """Return the time of all cores: the sum of the rows."""
        return sum(row.time_ps for row in self.rows)

    def by_cause(self) -> Counter[str]:
        """Return the time of each cause, in picoseconds."""
        return _sums((row.label, row.time_ps) for row in self.rows)

    def by_line(self) -> Counter[tuple[tuple[Place, ...], str]]:
        """Return the time of each line and cause, in picoseconds, whatever the calls."""
        return _sums(((row.calls[:1], row.label), row.time_ps) for row in self.rows)

    def by_path(self) -> Counter[tuple[tuple[Place, ...], str]]:
        """Return the time of each line, call path and cause, in picoseconds."""
        return _sums(((row.calls, row.label), row.time_ps) for row in self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each part of the time, the longest first.

        `calls` lists the lines that call the line's function. `share` is that of all cores' time.
        """
        import pandas as pd

        columns = ("file", "line", "function", "cause", "time_ns", "share", "calls")
        rows = [
            (
                row.calls[0].file, row.calls[0].line, row.calls[0].function, row.label,
                row.time_ps / 1000, row.time_ps / max(self.time_ps, 1),
                [str(place) for place in row.calls[1:]],
            )
            for row in self.rows
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=list(columns))

    @property
    def _size(self) -> tuple[float, float]:
        return 7.0, 4.0

    def _draw(self, figure: Figure) -> Axes:
        """Draw the source lines that take most of the time, divided by cause."""
        from pmemsim.plots import COLOURS, legend_below

        lines = self.by_line()
        totals = _sums((str(line), time) for ((line,), _), time in lines.items())
        names = [name for name, _ in totals.most_common(_PLOTTED_LINES)][::-1]
        axes = figure.subplots()
        begins = [0.0] * len(names)
        main = [cause for cause, _ in self.by_cause().most_common(_PLOTTED_CAUSES)]
        for cause, colour in zip([*main, "other causes"], COLOURS, strict=False):
            times = _sums(
                (str(line), time)
                for ((line,), label), time in lines.items()
                if label == cause or (cause == "other causes" and label not in main)
            )
            parts = [100 * times[name] / max(self.time_ps, 1) for name in names]
            if any(parts):
                axes.barh(names, parts, left=begins, color=colour, label=cause)
            begins = [begin + part for begin, part in zip(begins, parts, strict=True)]
        axes.set_xlabel("share of the cores' time (%)")
        axes.set_title(self.title, fontsize=9)
        legend_below(figure, axes)
        return axes

    def to_json(self, path: str | Path) -> None:
        """Write the file that `pmemsim profile --json` writes; `-` is standard output."""
        write_json(self.command, {"profiles": [self.to_dict()]}, str(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as `--json` writes it (keys: docs/guides/find_what_is_slow.md)."""
        return {
            "workload": self.result.workload,
            "design": self.result.design,
            "machine": self.result.machine,
            "threads": self.result.threads,
            "time_ns": self.result.time_ns,
            "core_time_ns": self.time_ps / 1000,
            "rows": [row.to_dict() for row in self.rows],
            "trace_hash": self.result.trace_hash,
        }


def _sums(parts: Any) -> Counter[Any]:  # noqa: ANN401 -- pairs of any key and a number
    sums: Counter[Any] = Counter()
    for key, time in parts:
        sums[key] += time
    return sums


def profile(
    trace: Trace, configuration: Configuration, progress: Progress | None = None
) -> Profile:
    """Simulate a recording, and divide the cores' time; see `simulation.simulate`."""
    report = _core.profile(trace.file, configuration, progress)
    places = report.places
    rows = (
        Row(
            tuple(places[each] for each in row.calls), row.cause, row.account, row.lock, row.time_ps
        )
        for row in report.rows
    )
    return Profile(result_of(trace, configuration, report.result), tuple(rows))


def write_speedscope(profiles: Sequence[Profile], path: Path) -> None:
    """Write a file for https://www.speedscope.app: a profile of each run, with causes as leaves."""
    frames: dict[Place | str, int] = {}

    def frame_of(key: Place | str) -> int:
        return frames.setdefault(key, len(frames))

    runs = []
    for each in profiles:
        stacks = each.by_path()
        samples = [
            [*(frame_of(place) for place in reversed(calls)), frame_of(cause)]
            for calls, cause in stacks
        ]
        weights = [time / 1000 for time in stacks.values()]
        runs.append(
            {
                "type": "sampled",
                "name": _name_of(each),
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": each.time_ps / 1000,
                "samples": samples,
                "weights": weights,
            }
        )
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": profiles[0].result.workload,
        "exporter": f"pmemsim {version()}",
        "activeProfileIndex": 0,
        "shared": {"frames": [_frame(key) for key in frames]},
        "profiles": runs,
    }
    with replacing(path) as partial:
        partial.write_text(json.dumps(document))


def _name_of(each: Profile) -> str:
    return f"{each.result.workload} on {each.result.design}, machine {each.result.machine}"


def _frame(key: Place | str) -> dict[str, Any]:
    if isinstance(key, str):
        return {"name": key}
    return {"name": f"{key.function or '?'} ({key})", "file": key.file, "line": key.line}


def callgrind_text(profile: Profile) -> str:
    """Return a file for KCachegrind and callgrind_annotate, with times in picoseconds.

    Each cause is an event. The numbers of calls aren't known; each is written as 1.
    """
    causes = [cause for cause, _ in profile.by_cause().most_common()]
    own: dict[tuple[str, str], dict[int, Counter[str]]] = {}
    calls: dict[tuple[Place, Place], Counter[str]] = {}
    for row in profile.rows:
        place = row.calls[0]
        lines = own.setdefault((place.file, place.function), {})
        lines.setdefault(place.line, Counter())[row.label] += row.time_ps
        for called, caller in zip(row.calls, row.calls[1:], strict=False):
            own.setdefault((caller.file, caller.function), {})
            callee = _core.Place(called.file, 0, called.function)
            calls.setdefault((caller, callee), Counter())[row.label] += row.time_ps

    def costs(times: Counter[str]) -> str:
        return " ".join(str(each) for each in (times.total(), *(times[cause] for cause in causes)))

    totals = profile.by_cause()
    text = [
        "# callgrind format",
        "version: 1",
        f"creator: pmemsim {version()}",
        f"cmd: {_name_of(profile)}",
        "positions: line",
        f"events: {' '.join(['Time', *(_event(cause) for cause in causes)])}",
        f"summary: {costs(totals)}",
    ]
    for (file, function), lines in own.items():
        text += ["", f"fl={file or '?'}", f"fn={function or '?'}"]
        text += [f"{line} {costs(times)}" for line, times in lines.items()]
        for (caller, callee), times in calls.items():
            if (caller.file, caller.function) == (file, function):
                text += [f"cfi={callee.file or '?'}", f"cfn={callee.function or '?'}"]
                text += ["calls=1 0", f"{caller.line} {costs(times)}"]
    return "\n".join([*text, ""])


def _event(cause: str) -> str:
    return "".join(word.capitalize() if word.islower() else word for word in cause.split()).replace(
        ":", "_"
    )
