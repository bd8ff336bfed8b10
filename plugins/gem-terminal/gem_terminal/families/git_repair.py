"""Commits that no branch names any more are found again."""

from random import Random

from gem_terminal.families.draft import Draft
from gem_terminal.families.git_objects import Repository
from gem_terminal.families.words import WORDS, sentence
from gem_terminal.task import Check

__all__ = ["draw"]

_AT = "/app/project"


def draw(random: Random, *, hard: bool) -> Draft:
    """Draw a task: a deleted branch in the reflog; if hard, lost commits without a reflog."""
    return _hard(random) if hard else _easy(random)


def _easy(random: Random) -> Draft:
    repository = Repository()
    main, log = _history(random, repository, random.randint(2, 4))
    branch = f"{random.choice(['fix', 'feature', 'topic'])}-{random.choice(WORDS)}"
    tip, moves = main[-1], list(log)
    moves.append((tip[0], f"checkout: moving from main to {branch}"))
    for _ in range(random.randint(2, 4)):
        tip = _child(random, repository, tip)
        moves.append((tip[0], f"commit: {tip[2]}"))
    moves.append((main[-1][0], f"checkout: moving from {branch} to main"))
    files = repository.write({"refs/heads/main": main[-1][0]}, main[-1][1], moves)
    return Draft(
        instruction=(
            f"The git repository {_AT} had a branch {branch}, which was deleted by mistake. Create "
            f"it again where it was: at the last commit that was made on it. The branch main stays "
            f"checked out, and as it is."
        ),
        files=_below(files),
        checks=[_ref(f"heads/{branch}", tip[0]), *_untouched(main[-1])],
        solution=(
            f"set -e\ncd {_AT}\n"
            f"tip=$(git reflog --format='%H %gs' | sed -n \"/from {branch} to main/,\\$p\" | "
            f"sed -n 2p | cut -d' ' -f1)\ngit branch {branch} \"$tip\"\n"
        ),
    )


def _hard(random: Random) -> Draft:
    repository = Repository()
    main, _ = _history(random, repository, random.randint(4, 6))
    good = random.randrange(1, len(main) - 1)
    setting = main[good][1]["settings.txt"]
    branch = f"rescue-{random.choice(WORDS)}"
    subject = f"Add the {random.choice(WORDS)} report"
    lost = _child(random, repository, main[good - 1])
    lost = _child(random, repository, lost, subject=subject)
    for _ in range(random.randint(2, 4)):
        other = _child(random, repository, random.choice(main[:-1]))
        _child(random, repository, other, subject=f"Draft: {subject.lower()}")
    files = repository.write({"refs/heads/main": main[-1][0]}, main[-1][1], [])
    return Draft(
        instruction=(
            f"The git repository {_AT} has lost commits: no branch names them, and there is no "
            f"reflog.\n\n"
            f"- Create the branch {branch} at the lost commit with the subject {subject!r} "
            f"(exactly).\n"
            f"- Tag as last-good the newest commit of main in which settings.txt is exactly\n\n"
            f"      {setting.strip()}\n\n"
            f"The branch main stays checked out, and as it is."
        ),
        files=_below(files),
        checks=[
            _ref(f"heads/{branch}", lost[0]),
            _ref("tags/last-good", main[good][0]),
            *_untouched(main[-1]),
        ],
        solution=(
            f"set -e\ncd {_AT}\n"
            f"for commit in $(git fsck --lost-found --no-progress 2>/dev/null | "
            f"awk '/dangling commit/ {{print $3}}'); do\n"
            f"  if [ \"$(git log -1 --format=%s $commit)\" = '{subject}' ]; then\n"
            f"    git branch {branch} $commit\n  fi\ndone\n"
            f"for commit in $(git rev-list --reverse main); do\n"
            f"  if [ \"$(git show $commit:settings.txt)\" = '{setting.strip()}' ]; then\n"
            f"    git tag -f last-good $commit\n  fi\ndone\n"
        ),
    )


_Commit = tuple[str, dict[str, str], str]
"""A commit's name, files and subject."""


def _history(
    random: Random, repository: Repository, count: int
) -> tuple[list[_Commit], list[tuple[str, str]]]:
    """Return commits of main, no two with the same settings, and the log of HEAD."""
    retries = random.sample(range(100), count)
    commits: list[_Commit] = []
    for number in retries:
        before = commits[-1] if commits else ("", {"README.txt": sentence(random) + "\n"}, "")
        files = {**before[1], "settings.txt": f"retries = {number}\n"}
        subject = f"Set retries to {number}"
        commits.append((repository.commit(files, subject, before[0]), files, subject))
    return commits, [(name, f"commit: {subject}") for name, _, subject in commits]


def _child(random: Random, repository: Repository, parent: _Commit, subject: str = "") -> _Commit:
    name = f"{random.choice(WORDS)}-{random.randrange(1000)}.txt"
    files = {**parent[1], name: sentence(random) + "\n"}
    subject = subject or f"Write {name}"
    return repository.commit(files, subject, parent[0]), files, subject


def _below(files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{_AT}/{path}": content for path, content in files.items()}


def _ref(ref: str, commit: str) -> Check:
    return {"kind": "ref", "repository": _AT, "ref": f"refs/{ref}", "commit": commit}


def _untouched(main: _Commit) -> list[Check]:
    head = {"kind": "text", "path": f"{_AT}/.git/HEAD", "text": "ref: refs/heads/main"}
    files = [
        {"kind": "text", "path": f"{_AT}/{path}", "text": text} for path, text in main[1].items()
    ]
    return [_ref("heads/main", main[0]), head, *files]
