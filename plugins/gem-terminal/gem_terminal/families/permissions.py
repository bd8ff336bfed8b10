"""Files and folders get the permissions that a policy asks for."""

from random import Random

from gem_terminal.families.draft import Draft, python
from gem_terminal.families.words import WORDS, sentence

__all__ = ["draw"]

_AT = "/app/site"
_EASY = """\
cd /app/site
while read -r mode name; do chmod "$mode" "$name"; done < /app/modes.txt
"""
_HARD = """\
import os
for parent, folders, names in os.walk('/app/site'):
    shared = os.path.basename(parent).startswith('shared')
    os.chmod(parent, 0o2770 if shared else 0o750)
    for name in names:
        path = os.path.join(parent, name)
        content = open(path).read()
        if 'PRIVATE KEY' in content:
            mode = 0o600
        elif name.endswith('.sh') and content.startswith('#!'):
            mode = 0o750
        else:
            mode = 0o640
        os.chmod(path, mode)
"""


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: a list of modes; if hard, rules about names and contents."""
    return _hard(random) if hard else _easy(random)


def _easy(random: Random) -> Draft:
    names = [f"{word}.txt" for word in random.sample(WORDS, random.randint(6, 10))]
    modes = [random.choice(["0600", "0640", "0660", "0444", "0750", "0700"]) for _ in names]
    paths = [f"{_AT}/{name}" for name in names]
    table = "".join(f"{mode} {name}\n" for mode, name in zip(modes, names, strict=True))
    return Draft(
        instruction=(
            f"Each line of /app/modes.txt has permissions, in octal, and the name of a file in "
            f"{_AT}. Give each file its permissions, and leave the contents alone."
        ),
        files={
            "/app/modes.txt": table.encode(),
            **{path: f"{sentence(random)}\n".encode() for path in paths},
        },
        checks=[{"kind": "modes", "modes": dict(zip(paths, modes, strict=True))}],
        solution=_EASY,
    )


def _hard(random: Random) -> Draft:
    files: dict[str, str] = {}
    modes = {_AT: "0750"}
    words = iter(random.sample(WORDS, 60))
    folders = [""]
    for number in range(random.randint(4, 6)):
        name = f"shared-{next(words)}" if number % 2 else next(words)
        folder = f"{random.choice(folders)}/{name}"
        folders.append(folder)
        modes[_AT + folder] = "2770" if number % 2 else "0750"
    for folder in folders:
        for _ in range(random.randint(2, 4)):
            name, text, mode = _file(random, next(words))
            files[f"{_AT}{folder}/{name}"] = text
            modes[f"{_AT}{folder}/{name}"] = mode
    return Draft(
        instruction=(
            f"Set the permissions of {_AT} and of everything below it:\n\n"
            "- folders: 0750, but 2770 if their name starts with 'shared'\n"
            "- files that contain the words PRIVATE KEY: 0600\n"
            "- other files whose name ends with .sh and whose content starts with #!: 0750\n"
            "- all other files: 0640\n\n"
            "Leave the contents alone."
        ),
        files={path: text.encode() for path, text in files.items()},
        checks=[
            {"kind": "modes", "modes": modes},
            *({"kind": "text", "path": path, "text": text} for path, text in files.items()),
        ],
        solution=python(_HARD),
    )


def _file(random: Random, word: str) -> tuple[str, str, str]:
    """Return the name, the text and the permissions of a file."""
    line = sentence(random)
    return random.choice(
        [
            (f"{word}.sh", f"#!/bin/bash\necho {line}\n", "0750"),
            (f"{word}.sh", f"# {line}\n", "0640"),
            (f"{word}.txt", f"{line}\n", "0640"),
            (f"{word}.txt", f"#! {line}\n", "0640"),
            (f"{word}.pem", f"-----BEGIN PRIVATE KEY-----\n{line}\n", "0600"),
            (f"{word}.sh", f"#!/bin/bash\n# holds a PRIVATE KEY\necho {line}\n", "0600"),
        ]
    )
