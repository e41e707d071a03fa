"""Find a recorded program's errors with persistent memory (PM), without simulating a machine."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pmemsim import _core
from pmemsim.document import Item, read
from pmemsim.errors import ConfigError, Error
from pmemsim.installation import version
from pmemsim.simulation import Progress
from pmemsim.trace import Place, Trace
from pmemsim.unrecorded import notes_on_crashes

Model = Literal["px86", "eadr", "guarantees"]
"""Which rules are checked: those of x86, of x86 with caches that survive, or of every machine.

Under a design's guarantees, the rules of flushes, fences and logs don't apply: the design defines
them.
"""


@dataclass(frozen=True)
class Kind:
    """A class of findings."""

    name: str
    loses_data: bool
    """Whether a crash can lose or break data; otherwise the finding only costs time or space."""
    meaning: str
    """Description of the finding."""
    effect: str
    """Sentence about the consequences of the finding."""


_KINDS = (
    Kind(
        "never-flushed",
        True,
        "the line of a store is not flushed between the store and the end of the recording",
        "a crash at any later time may lose the store",
    ),
    Kind(
        "stored-after-flush",
        True,
        "a store to a line between its flush and the fence is not flushed before the program "
        "depends on it",
        "the fence doesn't cover the store: a crash after the fence may lose the store",
    ),
    Kind(
        "flushed-not-fenced",
        True,
        "no fence follows clwb or clflushopt before an operation that depends on the flush",
        "later stores may persist first, and a crash leaves them without these data",
    ),
    Kind(
        "published-unflushed",
        True,
        "a pointer to a new line is stored before the line's stores are flushed",
        "the pointer may persist first, and after a crash it refers to invalid data",
    ),
    Kind(
        "nt-not-fenced",
        True,
        "no fence follows non-temporal stores before an operation that depends on them",
        "later stores may persist first, and a crash leaves them without these data",
    ),
    Kind(
        "locked-fence-only",
        True,
        "the only fence after a flush is a call of a lock's function",
        "locks don't guarantee to order flushes: another lock implementation may lose the data",
    ),
    Kind(
        "flushed-by-another",
        True,
        "only another thread's fence follows a flush",
        "a fence waits only for its own thread's flushes: a crash may lose the data",
    ),
    Kind(
        "not-logged",
        True,
        "a region stores to a line of which it has passed nothing to pm_log",
        "a crash in the region keeps the store: recovery doesn't undo it",
    ),
    Kind(
        "logged-late",
        True,
        "a region passes a range to pm_log after it has stored to its line",
        "the log contains the new data: recovery from a crash in the region can't undo them",
    ),
    Kind(
        "logged-by-two",
        True,
        "two regions of different threads, which may run at the same time, log the same line",
        "undoing one region also undoes the other region's committed data in the line",
    ),
    Kind(
        "reads-unpersisted",
        True,
        "a store depends on another thread's data that may not be persistent yet",
        "a crash may keep the store but lose the data on which it depends",
    ),
    Kind(
        "could-read-unpersisted",
        True,
        "in another order of the threads, a store depends on another thread's data that are not "
        "persistent yet",
        "in that order, a crash may keep the store but lose the data on which it depends",
    ),
    Kind(
        "could-lose-update",
        True,
        "in another order of the threads, two threads load a word before either stores what it has "
        "computed from it",
        "in that order, the update of one thread is lost without a crash",
    ),
    Kind(
        "replies-unpersisted",
        True,
        "the program sends a reply while data that it depends on may not be persistent yet",
        "a crash may lose the data although another program has the reply",
    ),
    Kind(
        "used-after-free",
        True,
        "the program accesses memory that it has freed",
        "the access may corrupt, or read, the data of a later allocation",
    ),
    Kind(
        "volatile-pointer",
        True,
        "the address of volatile memory is stored to PM",
        "after a restart the address is invalid: using it crashes the program or corrupts memory",
    ),
    Kind(
        "torn-publish",
        True,
        "a pointer into PM is stored across an 8-byte boundary",
        "a crash may keep only a part of it: at most 8 aligned bytes persist atomically",
    ),
    Kind(
        "wrong-answer",
        True,
        "after a crash, the program's reader (--answers) prints neither the contents before the "
        "operation nor those after it",
        "an operation is lost or incomplete",
    ),
    Kind(
        "leaked",
        False,
        "no pointer refers to the allocated memory at the end of the recording",
        "the memory stays allocated after a restart",
    ),
    Kind(
        "logged-twice",
        False,
        "a region passes a range to pm_log twice",
        "costs a search in the log",
    ),
    Kind(
        "useless-flush",
        False,
        "a flush has no data to write back",
        "costs the flush, and with clflush and clflushopt the line's next miss",
    ),
    Kind(
        "useless-fence",
        False,
        "an sfence has no flush or store of its thread to wait for",
        "costs the fence, or a flush before it is missing",
    ),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}

# Meaning of a finding's second location, by kind, or by kind and reason.
_OTHER = {
    "stored-after-flush": "flushed at {}",
    "published-unflushed": "the pointer is stored at {}",
    "flushed-by-another": "the other thread's fence: {}",
    "logged-late": "stored before, at {}",
    "logged-twice": "logged before, at {}",
    "logged-by-two": "the other region: {}",
    "reads-unpersisted": "the dependent store: {}",
    "could-read-unpersisted": "the dependent store: {}",
    "could-lose-update": "the dependent store: {}",
    "replies-unpersisted": "the data are stored at {}",
    "used-after-free": "freed at {}",
    "published": "a pointer to it is stored at {}",
    "undo_log": "a pointer to it is stored at {}",
    "region_end": "the region ends at {}",
    "unlock": "the lock is released at {}",
    "end": "the recording of the thread ends",
    "flushed_before": "flushed before, at {}",
}  # fmt: skip
_REASONS = {
    "clean": "never stored to in the recording",
    "outside_pm": "not persistent memory according to the recording",
    "stored": "a store",
    "loaded": "a load",
}
# Reasons why the rules can't decide whether a finding is an error.
_UNDECIDED = {
    "tag_bits": "it only clears tag bits of a pointer that is persistent",
    "sequence": "the word is the sequence word of a seqlock, which recovery may reset",
    "unseen_path": "the program may handle the data of that order on a path that it has not run",
    "unreferenced": "no pointer or offset in PM leads to the memory, which may have been freed",
    "redo_log": "a redo log may have the data, which recovery stores again",
    "free_list": "the store may link free memory, which recovery links again",
    "file": "the reply goes to a file, a terminal, or standard output or error",
    "own_store": "the thread has stored data, but the reply may not promise that they are durable",
    "undo_log": "the thread may have logged former data, which recovery restores",
    "branch": "a branch before the reply depends on another thread's data, the reply's bytes don't",
}


@dataclass(frozen=True)
class WrongAnswer:
    """The first image with a wrong answer of a program's reader, for a group of similar ones."""

    image: int
    """Number of the image, from 1."""
    lost: bool
    """Whether the image has losses; otherwise an operation passes through a wrong state."""
    where: str
    """The operations that the crash interrupts."""
    answer: str
    allowed: tuple[str, ...]
    """Allowed answers, and where the answer differs from them."""
    story: tuple[str, ...]
    """Location of the crash in the program, and the losses."""
    command: str
    """Command that shows it again."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the image and its wrong answer in words."""
        return (
            f"image {self.image:,}, of a crash {self.where}",
            f"printed: {self.answer}",
            *(f"allowed, {each}" for each in self.allowed),
            *self.story,
            f"to reproduce: {self.command}",
        )


@dataclass(frozen=True)
class OtherOrder:
    """Another order of the threads, which would lose data.

    `could-read-unpersisted`: the load is between another thread's store and its fence.
    `could-lose-update`: the load and the dependent store are between another thread's load of the
    word and its store.
    """

    store: Place
    store_calls: tuple[Place, ...]
    """Calls that led to the store, the innermost first."""
    fence: Place | None
    """Location of the fence that makes the store persistent, for `could-read-unpersisted`."""
    fence_calls: tuple[Place, ...]
    thread: int
    """The thread that must be held to record this order."""
    operation: int
    """Number of the operation behind which it must be held, from 0."""

    @property
    def hold(self) -> str:
        """Return the value of `--hold` that records this order."""
        return f"{self.thread}:{self.operation}"

    def to_dict(self) -> dict[str, Any]:
        """Return the order for `--json` (keys: docs/reference/results.md)."""
        return {
            "store": self.store.to_dict(),
            "store_calls": [call.to_dict() for call in self.store_calls],
            "fence": self.fence.to_dict() if self.fence else None,
            "fence_calls": [call.to_dict() for call in self.fence_calls],
            "thread": self.thread,
            "operation": self.operation,
            "hold": self.hold,
        }


@dataclass(frozen=True)
class Finding:
    """A finding at one line."""

    kind: str
    reason: str
    """The reason: what depends on a flush, or why one is useless; empty for most kinds."""
    place: Place
    calls: tuple[Place, ...]
    """Calls that led to the first occurrence, the innermost first."""
    other: Place | None
    """The second location: of the line's flush, the pointer's store, or the free."""
    other_calls: tuple[Place, ...]
    """Calls that led to the second location, the innermost first."""
    count: int
    executions: int
    """Number of executions of a useless flush or fence at this location."""
    thread: int
    operation: int
    """Number of the first occurrence in its thread, from 0, as in `pmemsim trace dump`."""
    order: OtherOrder | None = None
    """The order of the threads that would lose data, if it isn't the recorded one."""
    wrong_answer: WrongAnswer | None = None

    @property
    def loses_data(self) -> bool:
        """Return whether a crash can lose or break data."""
        return KINDS[self.kind].loses_data

    @property
    def note(self) -> bool:
        """Return whether the rules can't decide if it is an error."""
        return self.reason in _UNDECIDED

    @property
    def effect(self) -> str:
        """Say what the error may break or cost."""
        return KINDS[self.kind].effect

    @property
    def explanation(self) -> str:
        """Return the explanation beside the location; may be empty."""
        if self.wrong_answer:
            what = "lost by a crash" if self.wrong_answer.lost else "a crash right behind it,"
            return f"{what} {self.wrong_answer.where}"
        reasons = _REASONS | _UNDECIDED
        parts = [reasons[self.reason]] if self.reason in reasons else []
        if self.kind == "flushed-by-another":
            sentence = _OTHER[self.kind]
        else:
            sentence = _OTHER.get(self.reason) or _OTHER.get(self.kind, "")
        if sentence and (self.other or "{}" not in sentence):
            parts.append(sentence.format(self.other))
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding for `--json` (keys: docs/reference/results.md)."""
        wrong = {"wrong_answer": vars(self.wrong_answer)} if self.wrong_answer else {}
        order = {"order": self.order.to_dict()} if self.order else {}
        return {
            **wrong,
            **order,
            "kind": self.kind,
            "reason": self.reason,
            "loses_data": self.loses_data,
            "note": self.note,
            **self.place.to_dict(),
            "calls": [call.to_dict() for call in self.calls],
            "other": self.other.to_dict() if self.other else None,
            "other_calls": [call.to_dict() for call in self.other_calls],
            "count": self.count,
            "executions": self.executions or None,
            "first": {"thread": self.thread, "operation": self.operation},
            "effect": self.effect,
        }


@dataclass(frozen=True)
class Suppression:
    """A suppression: an intended case, from a file of `--suppress`."""

    kind: str
    source: str
    """A glob of `FILE:LINE`, or of `FILE` alone."""
    function: str
    """A glob of the function; empty: any."""
    comment: str
    place: str
    """Location of the suppression in its file."""

    def covers(self, finding: Finding) -> bool:
        """Return whether the finding's line, or a call that has led there, is intended."""
        return finding.kind == self.kind and any(
            self._names(place) for place in (finding.place, *finding.calls)
        )

    def _names(self, place: Place) -> bool:
        names = (place.file, str(place), Path(place.file).name, Path(str(place)).name)
        return any(fnmatch.fnmatchcase(name, self.source) for name in names) and (
            not self.function or fnmatch.fnmatchcase(place.function, self.function)
        )


def read_suppressions(path: Path) -> tuple[Suppression, ...]:
    """Return the suppressions of a file; raises a `ConfigError` with all its errors."""
    found, problems = [], []
    for item in read(path).items():
        try:
            found.append(_suppression(item))
        except ConfigError as error:
            problems += error.problems
        except Error as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(problems)
    return tuple(found)


def _suppression(item: Item) -> Suppression:
    fields = item.fields(["kind", "source", "comment"], ["function"])
    return Suppression(
        kind=fields["kind"].one_of(KINDS, "kind of finding"),
        source=fields["source"].text(),
        function=fields["function"].text() if "function" in fields else "",
        comment=fields["comment"].text(),
        place=item.place,
    )


@dataclass(frozen=True)
class Report:
    """The findings of a recording about its program."""

    workload: str
    model: Model
    counts: dict[str, int]
    """Operations, instructions, stores to PM, flushes, fences, regions, allocations, replies."""
    findings: tuple[Finding, ...]
    """Findings that can lose data first, then by kind and count."""
    suppressed: tuple[tuple[Finding, Suppression], ...]
    unused: tuple[Suppression, ...]
    """Suppressions that no finding has needed."""
    not_looked_for: dict[str, str]
    """Kinds of findings that this recording can't show, with the reasons."""
    notes: tuple[str, ...]
    """Data that the recording lacks, so that findings may be missing."""
    trace_hash: str
    known: tuple[Finding, ...] = ()
    """Findings that an earlier file of findings (`--baseline`) has, too."""

    @property
    def faults(self) -> list[Finding]:
        """Return the findings of the rules that can lose data, without notes."""
        rules = [each for each in self.findings if not each.wrong_answer]
        return [each for each in rules if each.loses_data and not each.note]

    @property
    def undecided(self) -> list[Finding]:
        """Return the notes: findings that a correct program may have, too."""
        return [finding for finding in self.findings if finding.note]

    @property
    def wrong_answers(self) -> list[Finding]:
        """Return the findings of the program's reader."""
        return [finding for finding in self.findings if finding.wrong_answer]

    @property
    def places(self) -> list[Place]:
        """Return the source lines of all findings, and of the calls that led there."""
        suppressed = (finding for finding, _ in self.suppressed)
        every = (*self.findings, *self.known, *suppressed)
        others = [each.other for each in every if each.other]
        return others + [place for each in every for place in (each.place, *each.calls)]

    @property
    def rules(self) -> str:
        """Say which model's rules were checked."""
        return "every machine" if self.model == "guarantees" else self.model

    def to_dict(self) -> dict[str, Any]:
        """Return the report as `--json` writes it."""
        return {
            "workload": self.workload,
            "model": self.model,
            **self.counts,
            "findings": [finding.to_dict() for finding in self.findings],
            "suppressed": [
                {**finding.to_dict(), "comment": by.comment, "suppression": by.place}
                for finding, by in self.suppressed
            ],
            "unused_suppressions": [suppression.place for suppression in self.unused],
            "not_looked_for": self.not_looked_for,
            "notes": list(self.notes),
            "trace_hash": self.trace_hash,
            "version": version(),
        }


def check_program(
    trace: Trace,
    model: Model = "px86",
    suppressions: Sequence[Suppression] = (),
    progress: Progress | None = None,
    more: Sequence[Finding] = (),
) -> Report:
    """Check a recording in one pass; raises an `Error` if it has nothing to check.

    `more` has findings from other sources, and is listed first.
    """
    trace.require_values()
    _check_has_pm(trace)
    found = _core.check_program(trace.file, model != "px86", bool(suppressions), progress)
    counts = {
        "operations": found.operations,
        "instructions": found.instructions,
        "pm_stores": found.pm_stores,
        "flushes": found.flushes,
        "fences": found.fences,
        "regions": found.regions,
        "allocations": found.allocations,
        "replies": found.replies,
    }
    if found.pm_stores == 0:
        raise Error(
            f"{trace.path}: the recording stores nothing to persistent memory, so there is "
            "nothing to check; "
            + "; ".join(
                [
                    "record the part of the program that stores to it",
                    *notes_on_crashes(trace.metadata),
                ]
            )
        )
    entries = [each for each in found.findings if each.kind not in _unknown_to(model)]
    findings = [*more, *map(_finding, entries)]
    suppressed = [
        (finding, by)
        for finding in findings
        for by in [next((each for each in suppressions if each.covers(finding)), None)]
        if by
    ]
    hidden = {id(finding) for finding, _ in suppressed}
    shown = _merged(finding for finding in findings if id(finding) not in hidden)
    return Report(
        workload=trace.name,
        model=model,
        counts=counts,
        findings=tuple(shown),
        suppressed=tuple(suppressed),
        unused=tuple(
            each for each in suppressions if not any(each.covers(finding) for finding in findings)
        ),
        not_looked_for=_unchecked_kinds(trace, model, counts),
        notes=tuple(_notes(trace, model, found)),
        trace_hash=trace.hash,
    )


def _merged(findings: Iterable[Finding]) -> list[Finding]:
    """Merge findings that differ only in calls behind the innermost one, in their order."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        key = (
            *(finding.kind, finding.reason, finding.place, finding.calls[:1]),
            *(finding.other, finding.other_calls[:1], finding.wrong_answer),
        )
        if known := merged.get(key):
            first = min(known, finding, key=lambda each: (each.thread, each.operation))
            merged[key] = replace(first, count=known.count + finding.count)
        else:
            merged[key] = finding
    return list(merged.values())


def _check_has_pm(trace: Trace) -> None:
    if not trace.metadata["pm_regions"]:
        raise Error(
            f"{trace.path}: the recording has no persistent memory, so there is nothing to check; "
            "declare it when recording with --pm-path, --pm-range, --pm-hint or --pm-heap"
        )


def _finding(found: _core.Finding) -> Finding:
    return Finding(
        kind=found.kind,
        reason=found.reason,
        place=found.place,
        calls=tuple(found.calls),
        other=found.other,
        other_calls=tuple(found.other_calls),
        count=found.count,
        executions=found.executions,
        thread=found.thread,
        operation=found.operation,
        order=_order(found.order) if found.order is not None else None,
    )


def _order(found: _core.OtherOrder) -> OtherOrder:
    return OtherOrder(
        store=found.store,
        store_calls=tuple(found.store_calls),
        fence=found.fence,
        fence_calls=tuple(found.fence_calls),
        thread=found.thread,
        operation=found.operation,
    )


_OF_FLUSHES = (
    "never-flushed", "stored-after-flush", "flushed-not-fenced", "published-unflushed",
    "locked-fence-only", "flushed-by-another", "reads-unpersisted", "could-read-unpersisted",
    "replies-unpersisted",
    "useless-flush", "useless-fence",
)  # fmt: skip
_OF_REGIONS = ("not-logged", "logged-late", "logged-by-two", "logged-twice")


def _unknown_to(model: Model) -> dict[str, str]:
    """Return the kinds of findings that a model's rules exclude, with the reasons."""
    if model == "px86":
        return {}
    if model == "eadr":
        known = dict.fromkeys(_OF_FLUSHES, "with eADR, the caches survive")
        return known | {"could-lose-update": "other orders are inferred under px86 alone"}
    kinds = (*_OF_FLUSHES, "could-lose-update", "nt-not-fenced", *_OF_REGIONS)
    return dict.fromkeys(
        kinds, "these rules apply to x86 and to software logs, not to every machine"
    )


def _unchecked_kinds(trace: Trace, model: Model, counts: dict[str, int]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if counts["regions"] == 0:
        reasons |= dict.fromkeys(_OF_REGIONS, "the recording has no atomic region (pm_begin)")
    if any(region["source"] == "pm_open, redo log" for region in trace.metadata["pm_regions"]):
        reasons |= dict.fromkeys(_OF_REGIONS[1:], "the program has a redo log")
    if counts["allocations"] == 0:
        reasons["leaked"] = "the recording has no pm_alloc"
        reasons["used-after-free"] = "the recording has no pm_alloc"
    elif trace.metadata.get("lists_objects"):
        reasons["leaked"] = "the program can list its objects (pmemobj_first, pmemobj_next)"
    if counts["replies"] == 0:
        reasons["replies-unpersisted"] = "the recording has no reply (write, send)"
    if trace.threads == 1:
        one = (
            "flushed-by-another", "reads-unpersisted", "could-read-unpersisted",
            "could-lose-update", "logged-by-two",
        )  # fmt: skip
        reasons |= dict.fromkeys(one, "the recording has one thread")
    if any(region["source"] == "--pm-heap" for region in trace.metadata["pm_regions"]):
        reasons["volatile-pointer"] = "the whole heap counts as persistent (--pm-heap)"
        reasons["leaked"] = "volatile pointers may lead to memory of --pm-heap"
    return reasons | _unknown_to(model)


def _notes(trace: Trace, model: Model, found: _core.Report) -> list[str]:
    notes = notes_on_crashes(trace.metadata)
    if not found.from_the_start:
        notes.append(
            "the recording begins at pm_roi_begin: earlier stores without a flush are unknown"
        )
    if not found.all_in_vain:
        notes.append("after the first 1,048,576, useless flushes are not counted")
    if model == "px86" and found.flushes == 0:
        notes.append(
            "the recording has no flush; if other code flushes, compile it with pmemsim-cc; if "
            "the program targets eADR, use --model eadr; otherwise each store may be lost"
        )
    if trace.metadata.get("turns_by_real_time"):
        notes.append("threads slept in code that is not instrumented: another recording may differ")
    return notes
