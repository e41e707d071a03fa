"""Make the text files of tests/snapshots: each page of --help, and a message of each kind of error.

They are read in review: a change of a text shows in the diff. `make update-pins` writes them.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from pathlib import Path

from support import ROOT, pmemsim

FOLDER = ROOT / "tests/snapshots"
RECORDING = ROOT / "tests/pins/recordings/one_thread.pmt"
COLUMNS = {"COLUMNS": "100"}
FILES = {
    "text.pmt": b"no recording\n",
    "cut.pmt": RECORDING.read_bytes()[:5000],
    "flipped.pmt": RECORDING.read_bytes()[:9000] + b"\0" + RECORDING.read_bytes()[9001:],
    "syntax.yaml": b"layers: {ordering: [x86\n",
    "unknown.yaml": b"description: x\nbase: sw-undo\nlayer: {ordering: x86}\n",
    "sweep.yaml": b"workloads: [queue]\ndesigns: [np]\nmachines: [asap]\naxis: {threads: [1]}\n",
    "suppress.yaml": b"- kind: never-flush\n  source: a.c:1\n",
    "damaged.so": b"\x7fELF" + bytes(60),
    "text.so": b"no plug-in\n",
    "version.pmt": RECORDING.read_bytes()[:8] + b"\x63" + RECORDING.read_bytes()[9:],
    "short.img": bytes(100),
}
MESSAGES = {
    "Names": [
        "rum one.pmt",
        "run one.pmt --desing np",
        "run one.pmt --design assap --machine asap",
        "run one.pmt --design np --machine asp",
        "compare quee --designs np --machine asap",
        "show statistic stall.fense_ns",
        "show machine xeon",
        "list workload",
        "run one.pmt --design np --machine asap --set core.rob_entrys=4",
        "crash one.pmt --design asap --machine asap --set pmemsim.faults=asap.order",
        "reproduce asap fig77",
        "check one.pmt --suppress suppress.yaml",
    ],
    "Values": [
        "run one.pmt --design np --machine asap --set core.rob_entries=many",
        "run one.pmt --design np --machine asap --set core.frequency=3",
        "run one.pmt --design np --machine asap --set core.rob_entries=0",
        "run one.pmt --design np --machine asap --set core.rob_entries",
        "compare queue --designs np --machine asap --threads 0",
        "compare queue --designs np --machine asap --data-bytes 65",
        "run one.pmt --design sw-undo --machine asap --set core.count=0",
        "run one.pmt --design sw-undo --machine asap --set asap.cl_list_entries=4",
    ],
    "Options that need or exclude others": [
        "run one.pmt",
        "run --design np --machine asap",
        "check one.pmt --model guarantees",
        "check one.pmt --budget 100",
        "crash one.pmt --design asap --machine asap --random 3",
    ],
    "Files": [
        "run missing.pmt --design np --machine asap",
        "run text.pmt --design np --machine asap",
        "run version.pmt --design np --machine asap",
        "trace verify cut.pmt",
        "trace verify flipped.pmt",
        "run one.pmt --design syntax.yaml --machine asap",
        "run one.pmt --design unknown.yaml --machine asap",
        "sweep sweep.yaml",
        "run one.pmt --design np --machine asap --json missing/out.json",
        "run one.pmt --design np --machine asap --plot out.doc",
        "decode short.img -o plain.img",
    ],
    "Designs that don't work": [
        "run one.pmt --design parallel --machine asap --set backend=encryption,compression",
        "crash one.pmt --design np --machine asap",
        "run one.pmt --design janus --machine asap --set backend=none",
    ],
    "Plug-ins": [
        "run one.pmt --design np --machine asap --plugin missing.so",
        "run one.pmt --design np --machine asap --plugin text.so",
        "run one.pmt --design np --machine asap --plugin damaged.so",
        "new-design np --layer ordering",
        "new-design mine --layer order",
        "plugin build missing",
    ],
    "Programs": [
        "record -o out.pmt",
        "record -o out.pmt -- ./missing",
        "record -o out.pmt -- /bin/true",
        "check one.pmt --verify ./missing",
        "check one.pmt --verify false --budget 3",
        "check one.pmt --answers false --budget 3",
    ],
    "Old spellings": [
        "crash --mutants",
        "crash one.pmt --model px86 --check ./checker",
        "check one.pmt --check ./checker",
    ],
    "Verdicts": [
        "crash one.pmt --design sw-undo --machine asap --set pmemsim.faults=x86.fence",
        "selftest --design np",
    ],
}
"""Command lines by what is wrong with them. `one.pmt` is a recording with one thread."""


def help_pages() -> dict[str, str]:
    """Return the whole page of help of each command, by its words joined with dashes."""
    found: dict[str, str] = {}
    rows = re.compile(r"^  ([a-z][a-z-]+)  +\S", re.M)
    pending: list[list[str]] = [[]]
    while pending:
        words = pending.pop()
        text = pmemsim(*words, "--help", environment=COLUMNS).stdout
        group = re.match(r"Usage: pmemsim(?: \S+)* COMMAND \.\.\.\n", text)
        if group:
            pending += [[*words, name] for name in rows.findall(text.partition("\n\n")[2])]
        else:
            text = pmemsim(*words, "--help-all", environment=COLUMNS).stdout or text
        found["-".join(["pmemsim", *words])] = re.sub(r"\S+/pmemsim/docs", "FOLDER/docs", text)
    return found


def messages() -> str:
    """Return each command line with what it prints to standard error, and its exit code."""
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "one.pmt").write_bytes(RECORDING.read_bytes())
        for file, content in FILES.items():
            (folder / file).write_bytes(content)
        for heading, command_lines in MESSAGES.items():
            lines += [f"# {heading}", ""]
            for line in command_lines:
                done = pmemsim(*shlex.split(line), cwd=folder, environment=COLUMNS)
                text = done.stderr.replace(str(folder.resolve()), "FOLDER")
                lines += [f"$ pmemsim {line}", *text.splitlines(), f"[exit {done.returncode}]", ""]
    return "\n".join(lines)


def measure() -> dict[str, str]:
    """Return the text of each file of the folder."""
    pages = {f"help/{name}.txt": text for name, text in help_pages().items()}
    return {**pages, "messages.txt": messages()}


def main() -> None:
    """Write all snapshot files again."""
    for name, text in measure().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
