"""Events, one JSON object on a line, become a report."""

import json
from random import Random
from typing import Any

from gem_terminal.families.draft import Draft, python
from gem_terminal.families.words import CITIES, FIRST

__all__ = ["draw"]

_SOLUTION = """\
import json
report, seen = {}, set()
for line in open('/app/events.jsonl'):
    try:
        event = json.loads(line)
    except ValueError:
        continue
    if event['id'] in seen:
        continue
    seen.add(event['id'])
    sign = {'sale': 1, 'refund': -1}.get(event['kind'], 0)
    if not sign:
        continue
    city = report.setdefault(event['shop']['city'], {'cents': 0, 'items': 0, 'clerks': []})
    for item in event['items']:
        city['cents'] += sign * item['count'] * item['cents']
        city['items'] += sign * item['count']
    city['clerks'] = sorted({*city['clerks'], event['shop']['clerk']})
json.dump(report, open('/app/report.json', 'w'))
"""


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: totals by city; if hard, with refunds, repeated events and broken lines."""
    cities = random.sample(CITIES, 5 if hard else 3)
    clerks = random.sample(FIRST, 6)
    kinds = ["sale", "sale", "refund", "visit"] if hard else ["sale"]
    events = [_event(random, cities, clerks, kinds) for _ in range(60 if hard else 15)]
    lines = [json.dumps({"id": number, **event}) for number, event in enumerate(events, start=1)]
    if hard:
        lines += random.sample(lines, 8)
        lines += [line[: random.randint(5, len(line) - 2)] for line in random.sample(lines, 5)]
        random.shuffle(lines)
    rules = [
        '- "cents": the sum of count times cents of all items',
        '- "items": the sum of count of all items',
        '- "clerks": the names of the clerks of these events, sorted, each once',
    ]
    further = (
        "\n\nOnly sales and refunds count; refunds count as negative in both sums. Some events "
        "occur twice: an id counts once. Skip lines that are not JSON."
    )
    return Draft(
        instruction=(
            "Each line of /app/events.jsonl is an event of a shop. Write /app/report.json, an "
            "object that has each city that occurs in those events as a key; its value is an "
            "object with:\n\n" + "\n".join(rules) + (further if hard else "")
        ),
        files={"/app/events.jsonl": "".join(f"{line}\n" for line in lines).encode()},
        checks=[{"kind": "json", "path": "/app/report.json", "value": _report(events)}],
        solution=python(_SOLUTION),
    )


def _event(
    random: Random, cities: list[str], clerks: list[str], kinds: list[str]
) -> dict[str, Any]:
    items = [
        {"count": random.randint(1, 9), "cents": random.randint(50, 9999)}
        for _ in range(random.randint(1, 4))
    ]
    shop = {"city": random.choice(cities), "clerk": random.choice(clerks)}
    return {"kind": random.choice(kinds), "shop": shop, "items": items}


def _report(events: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    counted = [event for event in events if event["kind"] != "visit"]
    for city in {event["shop"]["city"] for event in counted}:
        here = [event for event in counted if event["shop"]["city"] == city]
        sold = [
            (item["count"] * (-1 if event["kind"] == "refund" else 1), item["cents"])
            for event in here
            for item in event["items"]
        ]
        found[city] = {
            "cents": sum(count * cents for count, cents in sold),
            "items": sum(count for count, _ in sold),
            "clerks": sorted({event["shop"]["clerk"] for event in here}),
        }
    return found
