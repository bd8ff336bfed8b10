"""A script with faults is repaired; other inputs than those shown decide."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from gem_terminal.families.draft import Draft
from gem_terminal.families.words import FIRST, WORDS
from gem_terminal.task import Check

__all__ = ["draw"]


@dataclass(frozen=True)
class _Script:
    """A script, what it should do, and how it can be broken.

    Args:
        name: The file's name.
        command: The program that runs it.
        purpose: What it does with its standard input.
        text: The script as it should be.
        faults: Parts of it, and what they are replaced by.
        draw: Draws an input.
        answer: Returns the output that belongs to an input.
    """

    name: str
    command: str
    purpose: str
    text: str
    faults: tuple[tuple[str, str], ...]
    draw: Callable[[Random], str]
    answer: Callable[[str], str]


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: one fault; if hard, three of them."""
    script = random.choice(_SCRIPTS)
    faults = random.sample(script.faults, 3 if hard else 1)
    broken = script.text
    for right, wrong in faults:
        broken = broken.replace(right, wrong)
    shown, *hidden = (script.draw(random) for _ in range(6))
    path = f"/app/{script.name}"
    return Draft(
        instruction=(
            f"`{script.command} {path}` {script.purpose} It has {len(faults)} "
            f"fault{'s' if hard else ''}. Repair it. /app/input.txt is an example of an input, and "
            f"/app/expected.txt has the output for it; it must be right for other inputs too."
        ),
        files={
            path: broken.encode(),
            "/app/input.txt": shown.encode(),
            "/app/expected.txt": script.answer(shown).encode(),
        },
        checks=[_check(script, path, text) for text in (shown, *hidden, "")],
        solution=f"cat > {path} <<'END'\n{script.text}END\n",
    )


def _check(script: _Script, path: str, text: str) -> Check:
    command = [script.command, path]
    return {"kind": "output", "command": command, "stdin": text, "stdout": script.answer(text)}


def _accounts(random: Random) -> str:
    """Return payments; some names come several times, and some sums are equal."""
    names = random.sample(FIRST, 5)
    lines = [f"{name} {random.randint(-30, 90)}" for name in (*names, *random.choices(names, k=9))]
    lines += [f"Zed{number} 10" for number in (2, 1)]
    lines.insert(random.randrange(len(lines)), "# a note")
    lines.insert(random.randrange(len(lines)), "")
    return "".join(f"{line}\n" for line in lines)


def _totals(text: str) -> str:
    totals: dict[str, int] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, amount = line.split()
            totals[name] = totals.get(name, 0) + int(amount)
    ordered = sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))
    return "".join(f"{name} {total}\n" for name, total in ordered) + f"sum {sum(totals.values())}\n"


def _paths(random: Random) -> str:
    """Return paths, some with spaces or without an ending."""
    endings = [".txt", ".txt", ".TXT", ".tar.gz", ".md", ""]
    lines = []
    for _ in range(12):
        name = random.choice(WORDS) + random.choice(["", "", f" {random.choice(WORDS)}"])
        lines.append(f"{random.choice(WORDS)}/{name}{random.choice(endings)}")
    lines += ["a b/c d.txt", "x/PLAIN.Txt"]
    return "".join(f"{line}\n" for line in lines)


def _endings(text: str) -> str:
    counts: dict[str, int] = {}
    for line in text.splitlines():
        base = line.rpartition("/")[2]
        ending = base.rpartition(".")[2].lower() if "." in base else "none"
        counts[ending] = counts.get(ending, 0) + 1
    return "".join(f"{ending}={counts[ending]}\n" for ending in sorted(counts))


def _spans(random: Random) -> str:
    """Return spans; some touch, and some are inside others."""
    starts = [random.randint(0, 80) for _ in range(8)]
    spans = [(start, start + random.randint(0, 9)) for start in starts]
    spans += [(100, 120), (105, 110), (120, 125), (130, 131), (132, 133)]
    random.shuffle(spans)
    return "".join(f"{first}-{last}\n" for first, last in spans)


def _merged(text: str) -> str:
    """Join the spans point by point: every half of a number is a point."""
    covered = set()
    for line in text.split():
        first, _, last = line.partition("-")
        covered |= set(range(2 * int(first), 2 * int(last) + 1))
    starts = sorted(point // 2 for point in covered if point - 1 not in covered)
    ends = sorted(point // 2 for point in covered if point + 1 not in covered)
    joined = "".join(f"{first}-{last}\n" for first, last in zip(starts, ends, strict=True))
    return f"{joined}length {sum(ends) - sum(starts)}\n"


_SCRIPTS = (
    _Script(
        name="totals.py",
        command="python3",
        purpose=(
            "reads lines with a name and a whole number, and prints the total of each name, the "
            "highest total first and equal totals by name, then the sum of all. It skips empty "
            "lines, and lines that start with #."
        ),
        text="""\
import sys

totals = {}
for line in sys.stdin:
    line = line.strip()
    if not line or line.startswith("#"):
        continue
    name, amount = line.split()
    totals[name] = totals.get(name, 0) + int(amount)
for name, total in sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])):
    print(name, total)
print("sum", sum(totals.values()))
""",
        faults=(
            ("if not line or line.startswith", "if line.startswith"),
            ("totals.get(name, 0) + int(amount)", "int(amount)"),
            ("(-pair[1], pair[0])", "(pair[1], pair[0])"),
            ('print("sum", sum(totals.values()))', 'print("sum", len(totals))'),
            ("print(name, total)", 'print(name, total, sep="=")'),
        ),
        draw=_accounts,
        answer=_totals,
    ),
    _Script(
        name="endings.sh",
        command="bash",
        purpose=(
            "reads paths, one on each line, and prints how many have each ending, as ENDING=COUNT, "
            "sorted by ending. The ending is what follows the last dot of the file name, in lower "
            "case; it is none for a file name without a dot."
        ),
        text="""\
#!/bin/bash
declare -A counts
while IFS= read -r path; do
  base="${path##*/}"
  if [[ "$base" == *.* ]]; then
    ending="${base##*.}"
  else
    ending=none
  fi
  ending="${ending,,}"
  counts[$ending]=$(( ${counts[$ending]:-0} + 1 ))
done
for ending in "${!counts[@]}"; do
  echo "$ending=${counts[$ending]}"
done | LC_ALL=C sort
""",
        faults=(
            ('ending="${base##*.}"', 'ending="${base#*.}"'),
            ('  ending="${ending,,}"\n', ""),
            ("declare -A counts", "declare -a counts"),
            (":-0} + 1", ":-1} + 1"),
            ('"${!counts[@]}"', '"${counts[@]}"'),
        ),
        draw=_paths,
        answer=_endings,
    ),
    _Script(
        name="spans.py",
        command="python3",
        purpose=(
            "reads spans such as 3-7, one on each line, joins those that overlap or touch (3-7 and "
            "7-9 touch, 3-7 and 8-9 do not), and prints the joined spans in order, then the sum of "
            "their lengths (that of 3-7 is 4)."
        ),
        text="""\
import sys

spans = sorted(tuple(map(int, line.split("-"))) for line in sys.stdin if line.strip())
joined = []
for first, last in spans:
    if joined and first <= joined[-1][1]:
        joined[-1][1] = max(joined[-1][1], last)
    else:
        joined.append([first, last])
for first, last in joined:
    print(f"{first}-{last}")
print("length", sum(last - first for first, last in joined))
""",
        faults=(
            ("first <= joined[-1][1]", "first < joined[-1][1]"),
            ("max(joined[-1][1], last)", "last"),
            ("tuple(map(int, line.split", "tuple(map(str, line.strip().split"),
            ("sum(last - first for", "sum(last - first + 1 for"),
            ("spans = sorted(", "spans = list("),
        ),
        draw=_spans,
        answer=_merged,
    ),
)
