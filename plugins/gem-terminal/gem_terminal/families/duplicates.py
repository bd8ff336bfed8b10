"""Files with the same content are found, and one of each is kept."""

from random import Random

from gem_terminal.families.draft import Draft, digest, python
from gem_terminal.families.words import WORDS, sentence

__all__ = ["draw"]

_AT = "/app/photos"
_SOLUTION = """\
import hashlib, os
kept, lines = {}, []
os.chdir('/app/photos')
paths = [os.path.join(parent, name)[2:] for parent, _, names in os.walk('.') for name in names]
for path in sorted(paths):
    key = hashlib.sha256(open(path, 'rb').read()).hexdigest()
    if key in kept:
        lines.append(f'{path}\\t{kept[key]}\\n')
        os.remove(path)
        LINK
    else:
        kept[key] = path
open('/app/removed.tsv', 'w').writelines(lines)
"""
_LINK = "os.symlink(os.path.relpath(kept[key], os.path.dirname(path)), path)"


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: duplicates are removed; if hard, the sizes are alike and links replace them."""
    contents = [_content(random, hard=hard) for _ in range(random.randint(5, 8))]
    words = random.sample(WORDS, 40)
    folders = ["", *(f"{word}/" for word in words[:4])]
    if hard:
        folders += [f"{words[0]}/{words[5]}/", f"{words[1]} {words[6]}/"]
    paths: dict[str, bytes] = {}
    for number, word in enumerate(words[10:35]):
        content = contents[number] if number < len(contents) else random.choice(contents)
        space = " " if hard and random.random() < 0.3 else "-"
        paths[f"{random.choice(folders)}{word}{space}{number}.jpg"] = content
    first: dict[bytes, str] = {}
    removed = []
    for path in sorted(paths):
        kept = first.setdefault(paths[path], path)
        if kept != path:
            removed.append(f"{path}\t{kept}\n")
    link = (
        "Replace each other file by a symbolic link with a relative target that leads to the file "
        "that is kept."
        if hard
        else "Remove the other files."
    )
    remaining = paths if hard else {path: content for content, path in first.items()}
    linked = [f"{_AT}/{line.split(chr(9))[0]}" for line in removed]
    return Draft(
        instruction=(
            f"Some files below {_AT} have exactly the same content. Of files with the same content "
            f"keep the one whose path relative to {_AT} comes first in the order of its bytes. "
            f"{link} Write to /app/removed.tsv a line for each of these: its path relative to "
            f"{_AT}, a tab, and the path of the file that is kept. Sort the lines in the same "
            f"order."
        ),
        files={f"{_AT}/{path}": content for path, content in paths.items()},
        checks=[
            {"kind": "text", "path": "/app/removed.tsv", "text": "".join(removed)},
            {"kind": "names", "path": _AT, "names": list(remaining)},
            *(digest(f"{_AT}/{path}", content) for path, content in remaining.items()),
            *([{"kind": "links", "paths": linked}] if hard else []),
        ],
        solution=python(_SOLUTION.replace("LINK", _LINK if hard else "pass")),
    )


def _content(random: Random, *, hard: bool) -> bytes:
    text = sentence(random, 12)
    return f"{text[:60].ljust(60, '.') if hard else text}\n".encode()
