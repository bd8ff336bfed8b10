"""What MkDocs builds beside the pages of docs/: the API, the commands, pictures, and links.

``make site`` builds the site. Pages link to files of the repository as GitHub shows them. Links to
Markdown files outside of docs/ become links to a copy of the page, links to other files plain text.
"""

import html
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from api_pages import index_page, names_of, navigation, pages
from command_pages import commands_page
from home_page import PARTS, citation
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pictures import figures

ROOT = Path(__file__).parents[1]
VIEWER = ROOT / "plugins" / "gem-eval" / "gem_eval" / "view" / "static"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
BLOCK = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^<!-- (\w+)(?:: (.*))? -->$", re.MULTILINE)
CONSOLE = re.compile(r'(<div class="language-console highlight")(>.*?</div>)', re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the repository, if there is an address, and the pages of the API to the navigation."""
    config.repo_url = citation().get("repository-code", "")
    for section in config.nav or []:
        for entries in section.values():
            for entry in entries:
                if isinstance(entry, dict) and "Python API" in entry:
                    entry["Python API"] += navigation()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and copies of pages outside of docs/ that a page links to."""
    for path, make in GENERATED.items():
        files.append(File.generated(config, path, content="\n".join(make()) + "\n"))
    for name in ("board.css", "board.js"):
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(VIEWER / name)))
    for source in sorted(_linked(files)):
        place = f"repository/{source.relative_to(ROOT)}"
        files.append(File.generated(config, place, abs_src_path=str(source)))
    return files


def on_page_markdown(text: str, page: Page, files: Files, **_: Any) -> str:
    """Put in what is generated, and make links relative to the site."""
    here = page.file.src_uri
    text = MARK.sub(_generated, text)
    if _source(here) in pages():
        text += "".join(f"\n::: {place}\n" for place in names_of(_source(here)))

    def linked(match: re.Match[str]) -> str:
        mark, words, target, anchor = match.groups()
        path = (_source(here).parent / target).resolve()
        found = _page(path, files)
        if found is None:
            return words
        relative = posixpath.relpath(found, posixpath.dirname(here) or ".")
        return f"{mark}[{words}]({relative}{anchor or ''})"

    parts = BLOCK.split(text)
    parts[::2] = [LINK.sub(linked, part) for part in parts[::2]]
    return "".join(parts)


def on_page_content(text: str, **_: Any) -> str:
    """Let the buttons of console blocks copy the commands alone, without what they print."""
    return CONSOLE.sub(_copied, text)


def _copied(match: re.Match[str]) -> str:
    lines = html.unescape(re.sub(r"<[^>]*>", "", match[2][1:])).splitlines()
    commands = "\n".join(line[2:] for line in lines if line.startswith("$ "))
    return f'{match[1]} data-copy="{html.escape(commands)}"{match[2]}'


def _generated(match: re.Match[str]) -> str:
    name, words = match.groups()
    if name == "pictures":
        return figures(words)
    if name == "api":
        return "\n".join(index_page())
    return PARTS[name]() if name in PARTS else match[0]


def _source(uri: str) -> Path:
    """Return the file of a page of the site."""
    inside = uri.removeprefix("repository/")
    return ROOT / inside if inside != uri else ROOT / "docs" / uri


def _page(path: Path, files: Files) -> str | None:
    """Return the page of the site that shows a file or folder; None if there is none."""
    if not path.is_relative_to(ROOT):
        return None
    if path.is_dir():
        path /= "README.md"
    inside = path.relative_to(ROOT).as_posix()
    for uri in (inside.removeprefix("docs/"), f"repository/{inside}"):
        if files.get_file_from_path(uri) is not None:
            return uri
    return None


def _linked(files: Files) -> set[Path]:
    """Return the pages and pictures outside of docs/ that pages of docs/ link to."""
    pages = [Path(one.abs_src_path) for one in files.documentation_pages() if one.abs_src_path]
    found: set[Path] = set()
    for page in pages:
        for match in LINK.finditer(page.read_text("utf-8")):
            path = (page.parent / match[3]).resolve()
            path = path / "README.md" if path.is_dir() else path
            outside = path.is_relative_to(ROOT) and not path.is_relative_to(ROOT / "docs")
            if outside and path.is_file() and path.suffix in {".md", ".png"}:
                found.add(path)
    return found


GENERATED: dict[str, Callable[[], Iterator[str]]] = {
    "reference/commands.md": commands_page,
}
"""The pages that are generated, by their place."""
