# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Generate the rule-reasoning tasks that gem-qa ships: ``gem_qa/data/logic_sample.jsonl``.

Each task is a small theory in English, in the style of RuleTaker (Clark, Tafjord and Richardson
2020): facts, rules, and a statement that is true or false. Statements that cannot be derived are
false (closed world), and "not" in a rule means "cannot be derived" (negation as failure).
Predicates are ordered, and a rule concludes a later predicate than those of its conditions, so one
pass in that order decides every atom.

The depth of a statement is the length of the chain of rules that decides it. For a true statement
it is that of the shallowest proof; for a false one, every rule for it must fail, each at the
condition that fails first. Each depth, answer and wording (plain or negated) has the same number of
tasks. The same seed generates the same file::

    uv run plugins/gem-qa/scripts/make_logic.py
"""

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["DATA", "Atom", "Literal", "Rule", "World", "decide", "make_rows", "make_world", "write"]

DATA = Path(__file__).parents[1] / "gem_qa" / "data" / "logic_sample.jsonl"

SEED = 20
DEPTHS = (0, 1, 2, 3)
TASKS_PER_CELL = 8
"""The number of tasks for each depth, answer and wording: 4 * 2 * 2 * 8 = 128 in total."""

PEOPLE = ("Alma", "Boris", "Celia", "Dario", "Edith", "Farid", "Greta", "Hugo")
ANIMALS = ("the badger", "the crane", "the ferret", "the heron", "the otter", "the raven")
ADJECTIVES = ("brave", "calm", "clever", "gentle", "hungry", "old", "proud", "quiet", "strong")
VERBS = ("admire", "follow", "help", "visit")
ANYONE = "?"
"""The subject of an atom in a general rule, which applies to every entity."""
TASK = (
    "Whatever cannot be derived from the facts and rules is false. Is the statement True or False?"
)


class Atom(NamedTuple):
    """An atomic statement: an adjective of an entity, or a verb between two entities."""

    predicate: str
    subject: str
    object: str = ""

    def about(self, entity: str) -> "Atom":
        """Return the atom with ``entity`` in place of ANYONE."""
        return self._replace(subject=entity) if self.subject == ANYONE else self


class Literal(NamedTuple):
    """An atom, or its negation."""

    atom: Atom
    positive: bool = True


class Rule(NamedTuple):
    """An implication: if all conditions hold, the conclusion holds."""

    conditions: tuple[Literal, ...]
    conclusion: Atom


class World(NamedTuple):
    """A theory, whose rules conclude later predicates from earlier ones."""

    entities: tuple[str, ...]
    predicates: tuple[str, ...]
    facts: tuple[Atom, ...]
    rules: tuple[Rule, ...]


def decide(world: World) -> dict[Atom, tuple[bool, int]]:
    """Return for every atom whether it holds, and the depth of the decision."""
    decided: dict[Atom, tuple[bool, int]] = {}
    for predicate in world.predicates:
        for atom in _atoms(world, predicate):
            decided[atom] = (True, 0) if atom in world.facts else _apply(world, atom, decided)
    return decided


def _atoms(world: World, predicate: str) -> Iterator[Atom]:
    if predicate not in VERBS:
        return (Atom(predicate, entity) for entity in world.entities)
    pairs = itertools.product(world.entities, repeat=2)
    return (Atom(predicate, *pair) for pair in pairs)


def _apply(world: World, atom: Atom, decided: dict[Atom, tuple[bool, int]]) -> tuple[bool, int]:
    proofs, failures = [], [0]
    for rule in world.rules:
        if rule.conclusion.about(atom.subject) != atom:
            continue
        outcomes = [_holds(literal, atom.subject, decided) for literal in rule.conditions]
        failed = [depth for held, depth in outcomes if not held]
        if failed:
            failures.append(1 + min(failed))
        else:
            proofs.append(1 + max(depth for _, depth in outcomes))
    return (True, min(proofs)) if proofs else (False, max(failures))


def _holds(
    literal: Literal, entity: str, decided: dict[Atom, tuple[bool, int]]
) -> tuple[bool, int]:
    held, depth = decided[literal.atom.about(entity)]
    return held == literal.positive, depth


def make_world(rng: random.Random) -> World:
    """Return a random theory about people or animals."""
    entities = tuple(rng.sample(rng.choice((PEOPLE, ANIMALS)), 4))
    predicates = [*rng.sample(ADJECTIVES, 6), *rng.sample(VERBS, 2)]
    rng.shuffle(predicates)
    facts = {_make_atom(rng, rng.choice(predicates[:5]), entities) for _ in range(7)}
    rules = {_make_rule(rng, predicates, entities) for _ in range(7)}
    return World(entities, tuple(predicates), _shuffled(rng, facts), _shuffled(rng, rules))


def _shuffled(rng: random.Random, items: set[Any]) -> tuple[Any, ...]:
    """Return the items in a random order that does not depend on hashes."""
    return tuple(rng.sample(sorted(items), len(items)))


def _make_atom(
    rng: random.Random, predicate: str, entities: tuple[str, ...], subject: str = ""
) -> Atom:
    """Return a random atom, about ``subject`` if given; subject and object differ."""
    subject = subject or rng.choice(entities)
    if predicate not in VERBS:
        return Atom(predicate, subject)
    return Atom(predicate, subject, rng.choice([other for other in entities if other != subject]))


def _make_rule(rng: random.Random, predicates: list[str], entities: tuple[str, ...]) -> Rule:
    """Return a random rule about anyone or, always if it concludes a verb, about one entity."""
    last = rng.randrange(1, len(predicates))
    general = predicates[last] not in VERBS and rng.random() < 0.8
    subject = ANYONE if general else rng.choice(entities)
    asked = rng.sample(predicates[max(0, last - 4) : last], min(last, rng.choice((1, 2, 2))))
    conditions = []
    for predicate in asked:
        # It is ambiguous whether "someone does not visit Hugo" includes Hugo: avoid it.
        positive = (predicate in VERBS and general) or rng.random() < 0.7
        conditions.append(Literal(_make_atom(rng, predicate, entities, subject), positive))
    return Rule(tuple(conditions), _make_atom(rng, predicates[last], entities, subject))


def describe(world: World) -> str:
    """Return the theory in English: the facts, then the rules."""
    pronoun = "they" if world.entities[0] in PEOPLE else "it"
    facts = [_clause(Literal(fact)) for fact in world.facts]
    return "\n".join(map(_sentence, [*facts, *(_rule(rule, pronoun) for rule in world.rules)]))


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


def _rule(rule: Rule, pronoun: str) -> str:
    anyone = {"they": "someone", "it": "something"}[pronoun]
    first, *others = rule.conditions
    clauses = [_clause(first, anyone), *(_clause(other, pronoun) for other in others)]
    return f"if {' and '.join(clauses)} then {_clause(Literal(rule.conclusion), pronoun)}"


def _clause(literal: Literal, anyone: str = "") -> str:
    atom, positive = literal
    subject = anyone if atom.subject == ANYONE else atom.subject
    plural = subject == "they"
    if atom.predicate not in VERBS:
        return f"{subject} {'are' if plural else 'is'} {'' if positive else 'not '}{atom.predicate}"
    if positive:
        return f"{subject} {atom.predicate}{'' if plural else 's'} {atom.object}"
    return f"{subject} {'do' if plural else 'does'} not {atom.predicate} {atom.object}"


def make_rows(seed: int = SEED) -> list[dict[str, Any]]:
    """Return the tasks, each with its own theory, in a random order."""
    rng = random.Random(seed)
    cells = itertools.product(DEPTHS, (True, False), (True, False), range(TASKS_PER_CELL))
    rows = [
        _make_row(rng, depth=depth, answer=answer, positive=positive)
        for depth, answer, positive, _ in cells
    ]
    rng.shuffle(rows)
    return rows


def _make_row(rng: random.Random, *, depth: int, answer: bool, positive: bool) -> dict[str, Any]:
    wanted = (answer == positive, depth)
    while True:
        world = make_world(rng)
        decided = decide(world)
        fits = [atom for atom, found in decided.items() if found == wanted]
        candidates = [atom for atom in fits if atom.subject != atom.object]
        if candidates:
            statement = _sentence(_clause(Literal(rng.choice(candidates), positive)))
            question = f"{describe(world)}\n\nStatement: {statement}\n{TASK}"
            return {"question": question, "answer": str(answer), "depth": depth}


def write() -> None:
    """Write the file."""
    lines = [json.dumps(row) + "\n" for row in make_rows()]
    DATA.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
