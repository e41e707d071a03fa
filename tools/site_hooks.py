"""MkDocs' hooks for the documentation's site (mkdocs.yml).

- The navigation is that of docs/README.md: its four kinds of pages, in the order of their tables.
- Each design has a generated page (design_pages.py), which is listed under Designs.
- Pages may link to files of the repository outside docs/. These become part of the site, below
  `repository/`, with the files that they link to.
"""

from __future__ import annotations

import posixpath
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

import design_pages

ROOT = Path(__file__).resolve().parents[1]
DOCS, OUTSIDE = "docs/", "repository/"
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]+)")
"""The path of a link of Markdown, without its anchor."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the tables of docs/README.md."""
    text = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    nav: list[dict[str, Any]] = [{"Home": "README.md"}]
    for section in text.split("\n## ")[1:]:
        links = re.findall(r"\[([^]]+)\]\(([^)]+\.(?:md|ipynb))\)", section)
        nav.append({section.partition("\n")[0]: [{title: page} for title, page in links]})
    nav.append({"Designs": [{name: f"designs/{name}.md"} for name in _designs()]})
    nav.append({"Glossary": "glossary.md"})
    config.nav = nav
    return config


@event_priority(100)  # before the plug-in that checks links to these files
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the designs' pages and figures, and the files outside docs/ that pages link to."""
    for name, text in _designs().items():
        files.append(File.generated(config, f"designs/{name}.md", content=text))
    with tempfile.TemporaryDirectory() as folder:
        design_pages.figures(Path(folder), _designs())
        for figure in sorted(Path(folder).iterdir()):
            content = figure.read_bytes()
            files.append(File.generated(config, f"designs/{figure.name}", content=content))
    for path in sorted(_linked_outside(files)):
        content = (ROOT / path).read_bytes()
        files.append(File.generated(config, f"{OUTSIDE}{path}", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where the repository's files are in the site."""
    here = _repository_path(page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        target = _target(here, link[1])
        if not (ROOT / target).exists():
            return link[1]  # a generated file, or a missing one, which MkDocs reports
        return posixpath.relpath(_site_path(target), posixpath.dirname(page.file.src_uri))

    return LINK.sub(moved, markdown)


_texts: dict[str, str] = {}


def _designs() -> dict[str, str]:
    if not _texts:
        _texts.update(design_pages.pages())
    return _texts


def _target(page: str, link: str) -> str:
    """Return the path in the repository of what a page of it links to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def _repository_path(site_path: str) -> str:
    """Return the path in the repository of a file of the site."""
    if site_path.startswith(OUTSIDE):
        return site_path.removeprefix(OUTSIDE)
    return DOCS + site_path


def _site_path(repository_path: str) -> str:
    """Return the path in the site of a file of the repository."""
    if repository_path.startswith(DOCS):
        return repository_path.removeprefix(DOCS)
    return OUTSIDE + repository_path


def _linked_outside(files: Files) -> set[str]:
    """Return the files outside docs/ that pages link to, directly or through others."""
    found: set[str] = set()
    unread = [
        (_repository_path(file.src_uri), file.content_string)
        for file in files
        if file.is_documentation_page()
    ]
    while unread:
        page, text = unread.pop()
        for target in {_target(page, link) for link in _links(text)} - found:
            if not target.startswith(DOCS) and (ROOT / target).is_file():
                found.add(target)
                if target.endswith(".md"):
                    unread.append((target, (ROOT / target).read_text(encoding="utf-8")))
    return found


def _links(text: str) -> Iterator[str]:
    yield from (match[1] for match in LINK.finditer(text))
