"""docs/reference/info.md lists every key that environments, wrappers and tools put in info."""

import re
import typing
from pathlib import Path

import pytest
from kinds import one_of_each_kind

from gem_core import make, make_agent, make_vec
from gem_core.info import InfoKeys
from gem_core.specs import EnvSpec

pytestmark = pytest.mark.usefixtures("hub")
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "info.md").read_text()
ROW = re.compile(r"^\| `(\w+)` \| ([\w, ]+) \| ([\w, ]+) \|", re.MULTILINE)
LISTED = {
    name: (set(types.split(", ")), set(when.split(", "))) for name, types, when in ROW.findall(PAGE)
}
LONGEST = 15
"""Turns of an episode; the oracle ends most of them earlier."""


def one_of_each_family() -> list[EnvSpec]:
    """Return an environment of each class in each namespace."""
    chosen: dict[tuple[str, str], EnvSpec] = {}
    for spec in one_of_each_kind():
        chosen.setdefault((spec.namespace, str(spec.entry_point)), spec)
    return list(chosen.values())


def check(info, when):
    """Raise unless the page has every key, with this type, at this time."""
    for name, value in info.items():
        types, times = LISTED.get(name, (set(), set()))
        assert types, f"docs/reference/info.md lacks the key {name!r}"
        assert type(value).__name__.replace("NoneType", "None") in types or "any" in types, name
        assert times & when, f"{name!r} occurs at {when}, not only at {times}"


def play(env, agent):
    observation, info = env.reset(seed=3)
    agent.reset(env)
    check(info, {"reset"})
    for _ in range(LONGEST):
        observation, _, terminated, truncated, info = env.step(agent.act(observation, info))
        check(info, {"step", "last"} if terminated or truncated else {"step"})
        if terminated or truncated:
            return


@pytest.mark.parametrize("player", ["oracle", "silent"])
@pytest.mark.parametrize("spec", one_of_each_family(), ids=lambda spec: spec.id)
def test_the_page_has_every_key_of_an_episode(spec, player):
    with make(spec, **spec.check_kwargs) as env:
        play(env, make_agent(player if spec.oracle else "silent"))


def test_the_page_has_every_key_of_wrappers_and_tools():
    wrappers = ["concat_with_action", "episode_tracking"]
    with make("math:Sample", tools=["python"], wrappers=wrappers) as env:
        for _ in range(2):  # the second episode has the figures of the first
            _, info = env.reset(seed=1)
            check(info, {"reset"})
            step = env.step("<python>print(1)</python>")
            check(step.info, {"step"})
            assert step.info["use_tool"]
            check(env.step(env.sample_random_action()).info, {"step", "last"})


def test_the_page_has_every_key_of_calls_with_schemas():
    use = {"call_format": "hermes", "instructions": "schemas"}
    with make("math:Sample", tools=["python"], tool_use=use) as env:
        check(env.reset(seed=1)[1], {"reset"})
        call = '{"name": "python", "arguments": {"code": "print(1)"}}'
        step = env.step(f"<tool_call>{call}</tool_call>")
        assert {"tool_calls", "tool_messages"} <= set(step.info)
        check(step.info, {"step"})


def test_the_page_has_every_key_of_vectors():
    with make_vec("qa:Sample", num_envs=2, autoreset="same_step") as envs:
        envs.reset(seed=1)
        results = envs.step(["\\boxed{1}"] * 2)
        for info in results.infos:
            assert "final_info" in info
            check(info, {"reset", "step"})


def test_the_page_gives_the_shared_keys_their_types():
    shared = typing.get_type_hints(InfoKeys)
    for name, kind in shared.items():
        origin = dict if typing.is_typeddict(kind) else typing.get_origin(kind) or kind
        expected = "any" if kind is typing.Any else origin.__name__
        assert LISTED[name][0] == {expected}, name
