"""Read results, and render them as one HTML page that works without network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

from pmemsim.errors import Error, Problems
from pmemsim.installation import version
from pmemsim.reporting.blocks import Section
from pmemsim.reporting.sections import SECTIONS


def page_of(paths: Sequence[Path]) -> str:
    """Return the page; raises a `ConfigError` with a sentence for each file that is no result.

    The same files give the same page.
    """
    problems = Problems()
    sections, sources = [], []
    for path in paths:
        with problems.collected():
            section, source = _read(path)
            sections.append(section)
            sources.append(source)
    problems.raise_any()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["script_json"] = _script_json
    # Compressed, the library takes 2 MB of the page instead of 5 MB.
    library = base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()
    return environment.get_template("page.html").render(
        sections=sections, sources=sources, version=version(), library=library
    )


def _read(path: Path) -> tuple[Section, dict[str, str]]:
    """Return the section of a file, and the file's origin."""
    try:
        content = path.read_bytes()
        results = json.loads(content)
    except OSError as error:
        raise Error(f"{path}: {error.strerror}; name a file that --json has written") from error
    except UnicodeDecodeError as error:
        raise Error(f"{path}: the file is not text; name a file that --json has written") from error
    except ValueError as error:
        raise Error(
            f"{path}: the file is not JSON ({str(error).splitlines()[0]}); name a file that --json "
            "has written"
        ) from error
    command = str(results.get("command", "")) if isinstance(results, dict) else ""
    if command not in SECTIONS:
        what = f"results of `{command}`" if command else "no results of this version of pmemsim"
        raise Error(
            f"{path}: the file contains {what}; a report shows those of {', '.join(SECTIONS)}, "
            "which --json writes"
        )
    try:
        section = SECTIONS[command](results)
        source = {
            "file": path.name,
            "command": command,
            "version": str(results["version"]),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, StopIteration) as error:
        raise Error(
            f"{path}: the results do not match results.schema.json of this version "
            f"({_reason(error)}); run the command again"
        ) from error
    return section, source


def _reason(error: Exception) -> str:
    """Say what is wrong with results from which no section can be made."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return "a list is empty" if isinstance(error, StopIteration) else str(error)


def _script_json(value: Any) -> str:  # noqa: ANN401 -- any JSON
    """Return JSON that can't end the script element in which it is."""
    return json.dumps(value, sort_keys=True).replace("<", "\\u003c")
