"""Every installed environment tells a model how to answer, as the commands make it."""

import re

import pytest
from kinds import one_of_each_kind

from gem_core import make
from gem_core.observation import visible_text

FORMS = {"boxed": r"\\boxed\{", "tag": r"<answer>", "fence": r"```"}
"""The forms of an answer, and what both an action and a text about it contain."""


def env_factories(config):
    from gem_rollout import commands  # takes half a second to import

    return commands.env_factories(config)


def first_text(env):
    with env:
        observation, info = env.reset(seed=3)
        return visible_text(observation, info), env.sample_random_action()


@pytest.mark.slow
@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("namespace", sorted({spec.namespace for spec in one_of_each_kind()}))
def test_the_first_observation_of_a_command_shows_the_form_of_an_answer(namespace, subtests):
    """A form that a random action has is in the text, too."""
    for spec in [spec for spec in one_of_each_kind() if spec.namespace == namespace]:
        with subtests.test(env_id=spec.id):
            env = {"id": spec.id, **spec.check_kwargs}
            (factory,) = env_factories({"env": env, "answer_instruction": "default"})
            text, action = first_text(factory())
            forms = [name for name, form in FORMS.items() if re.search(form, str(action))]
            assert not forms or any(re.search(FORMS[name], text) for name in forms)


@pytest.mark.slow
@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    "env_id", ["math:Sample", "math:ASDiv2K", "eval:AIME24", "code:CodeContest"]
)
def test_make_shows_the_question_alone(env_id):
    """The instruction belongs to the commands."""
    (factory,) = env_factories({"env": env_id, "answer_instruction": "default"})
    told, _ = first_text(factory())
    bare, _ = first_text(make(env_id))
    assert told.startswith(bare.rstrip())
    assert len(told) > len(bare)
    (without,) = env_factories({"env": env_id, "answer_instruction": None})
    assert first_text(without())[0] == bare
