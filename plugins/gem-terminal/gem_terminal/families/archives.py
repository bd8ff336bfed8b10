"""Archives that arrived, some of them damaged, are unpacked."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping
from random import Random

from gem_terminal.families.draft import Draft, digest, python
from gem_terminal.families.words import WORDS, sentence
from gem_terminal.task import Check

__all__ = ["draw"]

_EASY = """\
set -e
cd /app/incoming
mkdir -p /app/out
: > /app/rejected.txt
for archive in *.tar.gz; do
  if grep -- "  $archive\\$" SHA256SUMS | sha256sum --check --status; then
    mkdir -p "/app/out/${archive%.tar.gz}"
    tar -xzf "$archive" -C "/app/out/${archive%.tar.gz}"
  else
    echo "$archive" >> /app/rejected.txt
  fi
done
"""
_HARD = """\
import io, os, re, tarfile, zipfile
parts = {}
with tarfile.open('/app/bundle.tar.gz') as bundle:
    for member in bundle.getmembers():
        if member.name.endswith('.zip'):
            with zipfile.ZipFile(io.BytesIO(bundle.extractfile(member).read())) as inner:
                for name in inner.namelist():
                    match = re.fullmatch(r'(?:.*/)?(.+)\\.part(\\d+)', name)
                    if match:
                        parts.setdefault(match[1], {})[int(match[2])] = inner.read(name)
os.makedirs('/app/out', exist_ok=True)
for name, pieces in parts.items():
    with open(os.path.join('/app/out', name), 'wb') as file:
        file.write(b''.join(pieces[number] for number in sorted(pieces)))
"""


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: checksums decide; if hard, parts of files in archives in an archive."""
    return _hard(random) if hard else _easy(random)


def _easy(random: Random) -> Draft:
    files: dict[str, bytes] = {}
    checks: list[Check] = []
    lines, rejected, kept = [], [], []
    for number, word in enumerate(random.sample(WORDS, random.randint(4, 6))):
        content = {
            f"{name}.txt": f"{sentence(random)}\n".encode() for name in random.sample(WORDS, 3)
        }
        archive = _tar(content)
        listed = archive if number else _tar({**content, "more.txt": b"lost\n"})
        if number > 1 and random.random() < 0.3:
            listed = archive + b"\n"
        lines.append(f"{hashlib.sha256(listed).hexdigest()}  {word}.tar.gz\n")
        files[f"/app/incoming/{word}.tar.gz"] = archive
        if listed == archive:
            kept += [f"{word}/{name}" for name in content]
            checks += [digest(f"/app/out/{word}/{name}", text) for name, text in content.items()]
        else:
            rejected.append(f"{word}.tar.gz\n")
    files["/app/incoming/SHA256SUMS"] = "".join(sorted(lines)).encode()
    checks += [
        {"kind": "names", "path": "/app/out", "names": kept},
        {"kind": "text", "path": "/app/rejected.txt", "text": "".join(sorted(rejected))},
    ]
    return Draft(
        instruction=(
            "/app/incoming has archives, and their checksums in SHA256SUMS. Unpack each archive "
            "NAME.tar.gz whose checksum is right into the folder /app/out/NAME. Write the file "
            "names of the other archives to /app/rejected.txt, sorted, one on each line, and put "
            "nothing of them into /app/out."
        ),
        files=files,
        checks=checks,
        solution=_EASY,
    )


def _hard(random: Random) -> Draft:
    whole: dict[str, bytes] = {}
    pieces: list[tuple[str, bytes]] = []
    for word in random.sample(WORDS, 4):
        name = random.choice([word, f"{word} {random.choice(WORDS)}", f"-{word}"]) + ".txt"
        lines = [f"{sentence(random)}\n".encode() for _ in range(random.randint(11, 14))]
        whole[name] = b"".join(lines)
        pieces += [(f"{name}.part{number}", line) for number, line in enumerate(lines, start=1)]
    random.shuffle(pieces)
    archives: dict[str, dict[str, bytes]] = {f"box {letter}/{letter}.zip": {} for letter in "abc"}
    for name, line in pieces:
        folder = random.choice(["", "data/", "-x/"])
        archives[random.choice(list(archives))][folder + name] = line
    bundle = {name: _zip(content) for name, content in archives.items()}
    bundle["notes.txt"] = b"Not a part.\n"
    checks = [digest(f"/app/out/{name}", content) for name, content in whole.items()]
    return Draft(
        instruction=(
            "/app/bundle.tar.gz has zip archives, and these have parts of files, in any folder: "
            "NAME.part1, NAME.part2 and so on. The parts of one file may be in several archives. "
            "Join the parts of each file in the order of their numbers, and write the result to "
            "/app/out/NAME. Put nothing else into /app/out."
        ),
        files={"/app/bundle.tar.gz": _tar(bundle)},
        checks=[*checks, {"kind": "names", "path": "/app/out", "names": list(whole)}],
        solution=python(_HARD),
    )


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), 1_700_000_000
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()
