"""The page: static files to serve, or one file with everything, data included.

The scripts are ES modules without a build step. For one file, which must not load others, they are
concatenated in the order of their imports, without import and export statements. So no two modules
may define the same top-level name; a test checks this.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from gem_eval.view.overview import overview
from gem_eval.view.store import Store
from gem_eval.view.training import training

__all__ = ["MEDIA_TYPES", "one_file", "page_json", "static_file"]

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_LARGEST_SAFE_INTEGER = 2**53 - 1
_MOST_ENVS = 30
_IMPORT = re.compile(r'^import\s[^;]*?from "\./(?P<module>[\w-]+\.js)";\n', re.MULTILINE)
_STYLE = re.compile(r'<link rel="stylesheet" href="(?P<name>[\w-]+\.css)">')
_EXPORT = re.compile(r"^export (?=const|let|function|async|class)", re.MULTILINE)


def static_file(name: str) -> bytes | None:
    """Return the content of a static file; None if it does not exist."""
    if not re.fullmatch(r"[a-z_-]+\.(html|js|css|svg)", name):
        return None
    file = resources.files("gem_eval.view") / "static" / name
    return file.read_bytes() if file.is_file() else None


def page_json(value: Any) -> bytes:
    """Return a value as ASCII JSON that can be embedded in HTML and is exact in JavaScript.

    ``<``, ``>`` and ``&`` are escaped, so that no text can end the enclosing script element.
    Numbers that JavaScript cannot represent (large integers, NaN, infinities) become text.
    """
    text = json.dumps(_for_script(value), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("ascii")


def _for_script(value: Any) -> Any:
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    if isinstance(value, list | tuple):
        return [_for_script(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _for_script(item) for key, item in value.items()}
    if isinstance(value, int) and abs(value) > _LARGEST_SAFE_INTEGER:
        return str(value)
    return value


def one_file(store: Store, most: int, write: Callable[[bytes], object]) -> int:
    """Write the page with its data as one file; return the number of episodes in it.

    The overview and the curves cover all episodes; the table has at most ``most`` of them, of
    evenly spread tasks.

    Args:
        store: The runs.
        most: The largest number of episodes.
        write: Called with the parts of the file, in order.
    """
    page = _text("index.html")
    styles = [_text(match["name"]) for match in _STYLE.finditer(page)]
    allowed = " ".join(f"'sha256-{_digest(style)}'" for style in styles)
    script = _bundle("main.js")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src {allowed}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    page = page.replace("<head>", f"<head>\n{head}", 1)
    page = _STYLE.sub(lambda match: f"<style>{_text(match['name'])}</style>", page)
    before, _, after = page.partition('<script type="module" src="main.js"></script>')
    write(before.encode())
    count = _write_data(store, most, write)
    write(f'<script type="module">{script}</script>'.encode())
    write(after.encode())
    return count


def _write_data(store: Store, most: int, write: Callable[[bytes], object]) -> int:
    """Write the data as script elements that contain JSON, one for each episode."""
    envs = [row["env_id"] for row in overview(store)["envs"]]
    shown = ["", *envs] if len(envs) <= _MOST_ENVS else [""]
    overviews = {env: overview(store, env) for env in shown}
    count = 0
    for episode_id in store.sample(most):
        entry = page_json(store.episode(episode_id))
        write(b'<script type="application/json" class="episode">' + entry + b"</script>\n")
        count += 1
    data = {
        "overviews": overviews,
        "written": datetime.now(UTC).isoformat(timespec="minutes"),
        "total": store.size,
        "state": store.state,
        "curves": training(store, every=True) if store.metrics else None,
    }
    write(b'<script type="application/json" id="data">' + page_json(data) + b"</script>\n")
    return count


def _bundle(entry: str) -> str:
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = _text(name)
        done[name] = ""
        for match in _IMPORT.finditer(text):
            add(match["module"])
        body = _EXPORT.sub("", _IMPORT.sub("", text))
        del done[name]
        done[name] = body

    add(entry)
    return "\n".join(done.values())


def _text(name: str) -> str:
    # HTML parsers normalise line ends to \n before they compute the digest.
    return (static_file(name) or b"").decode().replace("\r\n", "\n")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
