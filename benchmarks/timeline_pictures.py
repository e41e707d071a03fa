"""Draw the pictures of docs/guides/see_in_time.md from the files that `pmemsim timeline` writes.

    PYTHONPATH=tests/python .venv/bin/python benchmarks/timeline_pictures.py docs/figures

Perfetto and Konata need a browser and a window. The pictures have the tracks and rows of the same
files, as the readers of the tests find them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import kanata
import track_events
from pmemsim.plots import save

_RECORDINGS = Path(__file__).resolve().parents[1] / "tests" / "pins" / "recordings"
_COLOURS = (
    "#88CCEE", "#DDCC77", "#CC6677", "#117733", "#AA4499", "#44AA99", "#999933", "#332288",
    "#882255", "#661100",
)  # fmt: skip
_SHOWN = ("regions", "fences", "stalls", "persists", "bank")
_MOST_ROWS = 26
# Stages that take a larger share of the picture have their names.
_WIDE = 0.02


def _timeline(path: Path, *options: str) -> None:
    trace = _RECORDINGS / "four_threads.pmt"
    command = ["pmemsim", "timeline", str(trace), "-o", str(path), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _colour(names: dict[str, str], name: str) -> str:
    return names.setdefault(name, _COLOURS[len(names) % len(_COLOURS)])


def _tracks(path: Path, picture: Path) -> None:
    """Draw the tracks of two cores and of the banks that work, and the WPQs with writes."""
    found = track_events.read(path)
    tracks = [
        track
        for track in found.names
        if any(each.track == track for each in found.slices)
        and any(word in found.path(track) for word in _SHOWN)
        and not found.path(track).startswith(("core 2", "core 3"))
    ]
    tracks.sort(key=lambda track: ("bank" in found.path(track), found.path(track)))
    counters = [track for track, values in found.counters.items() if any(v for _, v in values)]

    def draw(figure: Figure) -> None:
        above, below = figure.subplots(
            2, 1, sharex=True, height_ratios=(len(tracks), 2 + len(counters))
        )
        names: dict[str, str] = {}
        for row, track in enumerate(tracks):
            for each in (each for each in found.slices if each.track == track):
                height = 0.8 - 0.3 * each.depth
                above.barh(
                    row, each.end - each.begin, height, each.begin,
                    color=_colour(names, each.name.split(" ")[0]), linewidth=0,
                )  # fmt: skip
                if each.end - each.begin > 60:
                    above.text(
                        each.begin, row, each.name[:18], va="center", fontsize=5, clip_on=True
                    )
        above.set_yticks(range(len(tracks)), map(found.path, tracks), fontsize=6)
        above.margins(y=0.01)
        above.invert_yaxis()
        for track in counters:
            times, values = zip(*found.counters[track], strict=True)
            below.step(times, values, where="post", linewidth=1, label=found.path(track))
        below.set_ylabel("entries", fontsize=7)
        below.set_xlabel("simulated time (ns)")
        below.legend(fontsize=6, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))

    save(draw, picture, (8.5, 0.19 * len(tracks) + 2.4))


def _rows(path: Path, picture: Path) -> None:
    """Draw the first persists and fences of a log: their stages, and their stalls below them."""
    all_rows = kanata.read(path)
    numbers = [i for i, row in enumerate(all_rows) if any(stage[0] == 0 for stage in row.stages)]
    place_of = {number: place for place, number in enumerate(numbers[:_MOST_ROWS])}
    rows = [all_rows[number] for number in place_of]

    def draw(figure: Figure) -> None:
        axes: Axes = figure.subplots()
        names: dict[str, str] = {}
        for number, row in enumerate(rows):
            for lane, name, begin, end in row.stages:
                height, place = (0.5, number - 0.1) if lane == 0 else (0.2, number + 0.28)
                colour = _colour(names, name if lane == 0 else "stall")
                axes.barh(place, end - begin, height, begin, color=colour, linewidth=0)
                if lane == 0 and end - begin > _WIDE * (rows[-1].end - rows[0].begin):
                    axes.text(begin, place, name, va="center", fontsize=5, clip_on=True)
            for producer in row.producers:
                if producer in place_of:
                    end_of_producer = (all_rows[producer].end, place_of[producer])
                    axes.annotate(
                        "", (row.begin, number), end_of_producer,
                        arrowprops={"arrowstyle": "->", "linewidth": 0.4, "color": "#777777"},
                    )  # fmt: skip
        axes.set_yticks(range(len(rows)), [row.label[:44] for row in rows], fontsize=6)
        axes.margins(y=0.01)
        axes.invert_yaxis()
        axes.set_xlabel("cycles of the cores")

    save(draw, picture, (8.5, 0.2 * len(rows) + 0.8))


def main() -> None:
    """Write both pictures into a folder."""
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        perfetto, log = Path(scratch) / "t.pftrace", Path(scratch) / "t.kanata"
        _timeline(perfetto, "-d", "asap", "-m", "asap", "--from", "3.9us", "--to", "4.5us")
        _tracks(perfetto, folder / "timeline.svg")
        _timeline(log, "-d", "sw-undo", "-m", "lalea", "--format", "kanata", "--from", "3us")
        _rows(log, folder / "konata.svg")


if __name__ == "__main__":
    main()
