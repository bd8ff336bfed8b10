"""Text files in several encodings all become UTF-8."""

import codecs
from random import Random

from gem_terminal.families.draft import Draft, digest, in_words, python
from gem_terminal.families.words import WORDS, sentence

__all__ = ["draw"]

_LETTERS = "äöüéèñçåßÄÖÉÑ"
_EASY = """\
import os
for line in open('/app/encodings.txt'):
    name, encoding = line.split()
    path = os.path.join('/app/texts', name)
    text = open(path, encoding=encoding, newline='').read()
    open(path, 'w', encoding='utf-8', newline='').write(text)
"""
_HARD = """\
import codecs, os
for name in os.listdir('/app/texts'):
    path = os.path.join('/app/texts', name)
    data = open(path, 'rb').read()
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = data.decode('utf-16')
    else:
        try:
            text = data.decode('utf-8-sig')
        except UnicodeDecodeError:
            text = data.decode('iso-8859-1')
    open(path, 'wb').write(text.replace('\\r\\n', '\\n').encode())
"""


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: encodings are listed; if hard, they must be recognised, and line ends mended."""
    names = [f"{word}.txt" for word in random.sample(WORDS, random.randint(6, 9))]
    texts = {name: _text(random) for name in names}
    known = (
        ["utf-16", "utf-8", "utf-8-sig", "iso-8859-1"]
        if hard
        else ["utf-16-le", "iso-8859-1", "cp437"]
    )
    encodings = dict(zip(names, [*known, *random.choices(known, k=len(names))], strict=False))
    files = {
        f"/app/texts/{name}": _encoded(random, text, encodings[name], hard=hard)
        for name, text in texts.items()
    }
    if hard:
        instruction = (
            "The text files in /app/texts are UTF-16 (with a byte order mark, in either order), "
            "UTF-8 (with a mark or without) or ISO 8859-1, and some have line ends of Windows. "
            "Convert all of them, in place, to UTF-8 without a byte order mark, with line feeds "
            "alone as line ends. A file that can be read as UTF-8 is UTF-8."
        )
    else:
        table = "".join(f"{name} {encoding}\n" for name, encoding in encodings.items())
        files["/app/encodings.txt"] = table.encode()
        used = in_words(sorted(set(encodings.values())))
        instruction = (
            f"Each line of /app/encodings.txt has the name of a file in /app/texts and its "
            f"encoding ({used}). Convert these files, in place, to UTF-8, and change nothing else."
        )
    return Draft(
        instruction=instruction,
        files=files,
        checks=[digest(f"/app/texts/{name}", text.encode()) for name, text in texts.items()],
        solution=python(_HARD if hard else _EASY),
    )


def _text(random: Random) -> str:
    """Return lines with letters beyond ASCII; in other encodings they are not valid UTF-8."""
    lines = [
        f"{sentence(random)} {random.choice(_LETTERS)} end" for _ in range(random.randint(3, 8))
    ]
    return "".join(f"{line}\n" for line in lines)


def _encoded(random: Random, text: str, encoding: str, *, hard: bool) -> bytes:
    if hard and random.random() < 0.5:
        text = text.replace("\n", "\r\n")
    if encoding == "utf-16":
        mark, name = random.choice(
            [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")]
        )
        return mark + text.encode(name)
    return text.encode(encoding, "replace")
