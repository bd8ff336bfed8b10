"""A table that was exported badly becomes a clean CSV file."""

from random import Random

from gem_terminal.families.draft import Draft, python
from gem_terminal.families.words import CITIES, people

__all__ = ["draw"]

_HEADER = "id,name,email,joined,city"
_SOLUTION = """\
rows = {}
for line in open('/app/export.txt', encoding='utf-8', newline=''):
    line = line.strip()
    if not line or line.startswith('#'):
        continue
    number, name, email, joined, city = [cell.strip() for cell in line.split(SEPARATOR)]
    if '/' in joined:
        day, month, year = joined.split('/')
        joined = f'{year}-{month}-{day}'
    rows[int(number)] = ','.join([str(int(number)), name, email.lower(), joined, city])
with open('/app/clean.csv', 'w') as file:
    print('HEADER', *[rows[number] for number in sorted(rows)], sep='\\n', file=file)
"""


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: separators, spaces, case, comments; if hard, also dates, duplicates, CRLF."""
    separator = random.choice([";", "|", "\t"])
    rows = _rows(random, random.randint(40, 60) if hard else random.randint(12, 20))
    lines = [_mess(random, row, separator, hard=hard) for row in rows]
    if hard:
        lines = _repeat(random, lines, separator)
    for _ in range(random.randint(2, 4)):
        lines.insert(random.randrange(len(lines)), random.choice(["", f"# page {len(lines)}"]))
    end = "\r\n" if hard else "\n"
    clean = "\n".join([_HEADER, *(",".join(row) for row in sorted(rows, key=lambda r: int(r[0])))])
    named = {";": "semicolons", "|": "vertical bars", "\t": "tabs"}[separator]
    rules = [
        f"The columns are separated by {named}; spaces around a value do not belong to it.",
        "Ignore empty lines, and lines that start with #.",
        "Write e-mail addresses in lower case, and numbers (column 1) without leading zeros.",
        "Sort the rows by number, as numbers.",
    ]
    if hard:
        rules += [
            "Some dates are DD/MM/YYYY; write all dates as YYYY-MM-DD.",
            "Where a number occurs several times, only its last line counts.",
            "Lines end with a carriage return and a line feed; the result has line feeds alone.",
        ]
    return Draft(
        instruction=(
            f"The file /app/export.txt has a table without a header. Write it to /app/clean.csv, "
            f"separated by commas, under the header\n\n    {_HEADER}\n\n"
            + "\n".join(f"- {rule}" for rule in rules)
        ),
        files={"/app/export.txt": "".join(line + end for line in lines).encode()},
        checks=[{"kind": "text", "path": "/app/clean.csv", "text": clean}],
        solution=python(_SOLUTION.replace("SEPARATOR", repr(separator)).replace("HEADER", _HEADER)),
    )


def _rows(random: Random, count: int) -> list[list[str]]:
    numbers = random.sample(range(1, 2000), count)
    rows = []
    for number, name in zip(numbers, people(random, count), strict=True):
        email = name.lower().replace(" ", ".") + f"@{random.choice(['mail', 'post'])}.example"
        date = f"{random.randint(2015, 2025)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
        rows.append([str(number), name, email, date, random.choice(CITIES)])
    return rows


def _mess(random: Random, row: list[str], separator: str, *, hard: bool) -> str:
    number, name, email, date, city = row
    number = number.zfill(random.choice([0, 5]))
    email = random.choice([email, email.upper(), email.title()])
    if hard and random.random() < 0.5:
        date = "/".join(reversed(date.split("-")))
    cells = [number, name, email, date, city]
    return separator.join(
        random.choice(["", " ", "  "]) + cell + random.choice(["", " "]) for cell in cells
    )


def _repeat(random: Random, lines: list[str], separator: str) -> list[str]:
    """Put older versions of some lines before them."""
    older = []
    for line in random.sample(lines, 6):
        cells = line.split(separator)
        older.append(separator.join([*cells[:4], random.choice(CITIES) + " Old"]))
    return older + lines
