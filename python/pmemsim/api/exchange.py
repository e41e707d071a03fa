"""Read other tools' files, and pack results: `import_champsim`, `pack` and others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pmemsim import champsim, packing, pmemcheck
from pmemsim.api.common import check_outputs, like_command
from pmemsim.arguments import check_jobs, check_path, check_whole
from pmemsim.errors import Error, Problems
from pmemsim.files import check_trace_name, temporary_folder
from pmemsim.packing import Replay
from pmemsim.progress import Progress, watch_of
from pmemsim.results import Results
from pmemsim.runner import Runner
from pmemsim.trace import Trace


@like_command("import champsim", source="TRACE")
def import_champsim(
    source: str | Path,
    output: str | Path,
    *,
    pm_ranges: Sequence[str] = (),
    cloudsuite: bool = False,
    skip: int = 0,
    instructions: int | None = None,
    progress: Progress = True,
) -> Trace:
    """Convert a trace of ChampSim into a recording for the simulation of times.

    Args:
        source: ChampSim's trace: raw, `.gz`, `.xz` or `.bz2`, by its suffix.
        output: The recording to write (`.pmt`).
        pm_ranges: Address ranges that are persistent, as `LO:HI`, hexadecimal.
        cloudsuite: Whether the trace has CloudSuite's longer records.
        skip: Number of instructions to leave out first.
        instructions: Number of instructions to convert; default: all.
        progress: As in `run`.

    Returns:
        The recording.

    Raises:
        ConfigError: An argument is wrong; the exception lists all errors.
        Error: The trace is damaged, or has no instruction.

    Example:
        `pmemsim.import_champsim("605.mcf.champsimtrace.xz", "mcf.pmt", instructions=10_000_000)`
    """
    problems = Problems()
    _check_files(source, output, problems)
    check_whole(problems, "--skip", skip, 0)
    check_whole(problems, "--instructions", instructions, 1)
    ranges = [champsim.range_of(text, problems) for text in pm_ranges]
    problems.raise_any()
    return Runner(watch_of(progress)).run(
        Path(source).name,
        lambda report: champsim.import_champsim(
            Path(source),
            Path(output),
            ranges,
            cloudsuite=cloudsuite,
            skip=skip,
            instructions=instructions,
            progress=report,
        ),
    )


@like_command("import pmemcheck", log="LOG")
def import_pmemcheck(
    log: str | Path, output: str | Path, *, initial: Sequence[str | Path] = ()
) -> Trace:
    """Convert a store log of pmemcheck into a recording for `check`.

    Args:
        log: The file that pmemcheck wrote with `--log-stores=yes`.
        output: The recording to write (`.pmt`).
        initial: Files with the contents that mapped files of the same names had before the run;
            without one, a mapped file began with zeros.

    Returns:
        The recording, which has no times.

    Raises:
        ConfigError: An argument is wrong; the exception lists all errors.
        Error: The log is malformed.

    Example:
        `pmemsim.check(pmemsim.import_pmemcheck("mine.log", "mine.pmt")).found`
    """
    problems = Problems()
    _check_files(log, output, problems)
    problems.raise_any()
    return pmemcheck.import_pmemcheck(Path(log), Path(output), [Path(each) for each in initial])


def _check_files(source: str | Path, output: str | Path, problems: Problems) -> None:
    check_outputs([output], [source], problems)
    with problems.collected():
        check_trace_name(Path(output))


@like_command("pack", results="RESULTS")
def pack(
    results: Results | str | Path | Sequence[Results | str | Path],
    output: str | Path,
    *,
    recordings: Sequence[str | Path] = (),
) -> int:
    """Pack results, their recordings and configurations in one file for `replay`.

    Args:
        results: Results of `run`, `compare`, `sweep`, `matrix` or `reproduce`, files that `to_json`
            or `--json` wrote, or a list of them.
        output: The pack to write (`.pmpack`).
        recordings: Recordings, and folders that are searched for them. The results' folders and
            pmemsim's recordings of workloads are searched, too.

    Returns:
        The number of recordings in the pack.

    Raises:
        ConfigError: A result can't be simulated again, or a recording wasn't found.

    Example:
        `pmemsim.pack(pmemsim.compare(["queue"], designs=["np"], machine="asap"), "queue.pmpack")`
    """
    every = [results] if isinstance(results, Results | str | Path) else list(results)
    # The elements of a frame are its columns' names.
    frame = hasattr(results, "columns")
    if not every or frame or not all(isinstance(each, Results | str | Path) for each in every):
        what = "a frame" if frame else repr(results)
        raise Error(f"results: {what} must be results or files of results")
    problems = Problems()
    packing.check_recordings(map(Path, recordings), problems)
    check_outputs([output], [*every, *recordings], problems)
    problems.raise_any()
    with temporary_folder() as folder:
        files = [_file_of(each, folder, number) for number, each in enumerate(every)]
        names = [
            f"results of {each.command}" if isinstance(each, Results) else str(each)
            for each in every
        ]
        return packing.pack(files, Path(output), [Path(each) for each in recordings], names)


def _file_of(result: Results | str | Path, folder: Path, number: int) -> Path:
    """Return the file of results; those of a function are written into the folder."""
    if not isinstance(result, Results):
        return Path(result)
    path = folder / f"{result.command}-{number}.json"
    result.to_json(path)
    return path


@like_command("replay", packed="PACK")
def replay(packed: str | Path, *, jobs: int | None = None, progress: Progress = True) -> Replay:
    """Simulate packed results again, and compare every number.

    Args:
        packed: A file that `pack` wrote.
        jobs: Number of simulations at the same time; default: all host cores.
        progress: As in `run`.

    Returns:
        The packed results, and the values that differ; a difference raises no exception.

    Raises:
        ConfigError: An argument is wrong; the exception lists all errors.
        Error: The file is no pack, or it is damaged.

    Example:
        `pmemsim.replay("queue.pmpack").equal`
    """
    problems = Problems()
    with problems.collected():
        check_path("packed", packed)
    check_jobs(problems, jobs)
    problems.raise_any()
    with packing.opened(Path(packed)) as found:
        watch = watch_of(progress)
        with watch([run.label for run in found.runs]) as report:
            return found.replay(jobs, report)
