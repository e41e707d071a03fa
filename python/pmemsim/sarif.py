"""Write the findings of `pmemsim check` as SARIF 2.1.0, and compare them with an earlier file."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pmemsim.errors import Error
from pmemsim.files import replacing
from pmemsim.installation import version
from pmemsim.program_check import KINDS, Finding, Report
from pmemsim.sources import Sources
from pmemsim.trace import Place

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
TOOL = "pmemsim"
FINGERPRINT = "pmemsimFinding/v1"
"""The key of a finding's fingerprint among the partial fingerprints of a result."""
_REJECTED = "rejected-image"
_CURE = "name a file that `pmemsim check --sarif` wrote"


def fingerprint(finding: Finding, sources: Sources) -> str:
    """Return a hash that identifies a finding although its line's number may change.

    It depends on the kind, the function, the line's text, and those of the innermost call. Without
    the source file on this computer, the line's number replaces its text.
    """
    parts = [finding.kind, finding.reason]
    for place in (finding.place, *finding.calls[:1]):
        text = " ".join(sources.text(place).split())
        parts += [place.function, text or str(place)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Baseline:
    """The findings of an earlier SARIF file."""

    known: Counter[str]
    """Number of findings of each fingerprint."""

    def apply(self, report: Report, sources: Sources) -> tuple[Report, int]:
        """Move known findings to `Report.known`.

        Also return how many findings of the file no longer occur.
        """
        left = self.known.copy()
        new: list[Finding] = []
        known: list[Finding] = []
        for finding in report.findings:
            identity = fingerprint(finding, sources)
            (known if left[identity] > 0 else new).append(finding)
            left[identity] -= 1
        gone = sum((+left).values())
        return replace(report, findings=tuple(new), known=tuple(known)), gone


def read_baseline(path: Path) -> Baseline:
    """Read a file that `--sarif` has written; an `Error` says what is wrong with it."""
    try:
        log = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Error(f"{path}: {error.strerror or error}; {_CURE}") from error
    except UnicodeDecodeError as error:
        raise Error(f"{path}: the file is not text; {_CURE}") from error
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise Error(f"{path}: the file is not JSON ({reason}); {_CURE}") from error
    try:
        return _baseline(log)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise Error(f"{path}: the file is not SARIF 2.1.0 of pmemsim; {_CURE}") from error


def _baseline(log: Any) -> Baseline:  # noqa: ANN401 -- any JSON
    if log["version"] != "2.1.0":
        raise KeyError
    (run,) = [each for each in log["runs"] if each["tool"]["driver"]["name"] == TOOL] or [None]
    known: Counter[str] = Counter()
    for result in run["results"]:
        # A suppressed finding is new again when its suppression is removed.
        if not result.get("suppressions") and "partialFingerprints" in result:
            known[str(result["partialFingerprints"][FINGERPRINT])] += 1
    return Baseline(known)


def write_sarif(
    path: Path,
    report: Report,
    sources: Sources,
    rejected: Sequence[str],
    *,
    with_baseline: bool,
) -> None:
    """Write a report's findings as a SARIF log.

    `rejected` describes images that the program's checker has rejected. They have no location,
    since no single line is wrong. With a baseline, each finding is marked as new or unchanged.
    """
    rules = {kind.name: number for number, kind in enumerate(KINDS.values())}
    results = []
    for state, findings in (("new", report.findings), ("unchanged", report.known)):
        for finding in findings:
            result = _result(finding, rules, sources)
            results.append({**result, "baselineState": state} if with_baseline else result)
    for finding, by in report.suppressed:
        hidden = {"kind": "external", "status": "accepted", "justification": by.comment}
        results.append({**_result(finding, rules, sources), "suppressions": [hidden]})
    for text in rejected:
        results.append({
            "ruleId": _REJECTED, "ruleIndex": len(rules), "level": "error",
            "message": {"text": text},
        })  # fmt: skip
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report, results)]}
    with replacing(path) as partial:
        partial.write_text(json.dumps(log, indent=2) + "\n", encoding="utf-8")


def _run(report: Report, results: list[dict[str, Any]]) -> dict[str, Any]:
    rules = [
        {
            "id": kind.name,
            "shortDescription": {"text": f"{kind.meaning}."},
            "fullDescription": {"text": f"{kind.meaning}: {kind.effect}."},
            "defaultConfiguration": {"level": "error" if kind.loses_data else "warning"},
        }
        for kind in KINDS.values()
    ]
    rules.append({
        "id": _REJECTED,
        "shortDescription": {"text": "the program's checker rejects an image after a crash."},
        "defaultConfiguration": {"level": "error"},
    })  # fmt: skip
    return {
        "tool": {"driver": {"name": TOOL, "version": version(), "rules": rules}},
        "automationDetails": {"id": f"{TOOL}/check/{report.workload}/{report.model}"},
        "results": results,
        "properties": {"traceHash": report.trace_hash},
    }


def _result(finding: Finding, rules: dict[str, int], sources: Sources) -> dict[str, Any]:
    level = "error" if finding.loses_data else "warning"
    because = f" ({finding.explanation})" if finding.explanation else ""
    kind = KINDS[finding.kind]
    related = [finding.other] if finding.other else []
    result: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": rules[finding.kind],
        "level": "note" if finding.note else level,
        "message": {"text": f"{kind.meaning}{because}: {finding.effect}."},
        "locations": _locations([finding.place], sources),
        "partialFingerprints": {FINGERPRINT: fingerprint(finding, sources)},
        "occurrenceCount": finding.count,
        "properties": {"thread": finding.thread, "operation": finding.operation},
    }
    if where := _locations(related, sources):
        result["relatedLocations"] = where
    if finding.calls:
        frames = [{"location": each} for each in _locations(finding.calls, sources)]
        result["stacks"] = [{"message": {"text": "calls, innermost first"}, "frames": frames}]
    return result


def _locations(places: Iterable[Place], sources: Sources) -> list[dict[str, Any]]:
    return [_location(place, sources) for place in places]


def _location(place: Place, sources: Sources) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if place.file:
        absolute = place.file.startswith("/")
        uri = f"file://{quote(place.file)}" if absolute else quote(place.file)
        artifact = {"uri": uri} if absolute else {"uri": uri, "uriBaseId": "%SRCROOT%"}
        location["physicalLocation"] = {"artifactLocation": artifact}
        if place.line:
            region: dict[str, Any] = {"startLine": place.line}
            if text := sources.text(place):
                region["snippet"] = {"text": text}
            location["physicalLocation"]["region"] = region
    if place.function:
        location["logicalLocations"] = [{"name": place.function, "kind": "function"}]
    return location
