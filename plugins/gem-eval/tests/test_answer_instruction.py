r"""Models that answer in the required form only when they were told to.

The model behind the endpoint knows every answer, and writes it in a box only if its prompt
mentions one.
"""

import json
import re
from itertools import product

import pytest
from selection import some

from gem_agents.testing.endpoint_server import EndpointServer
from gem_rollout import read_trajectories

DATA = "env.data=[{problem:'What is 3 + 4?',answer:'7'},{problem:'What is 9 - 2?',answer:'7'}]"


def reply(body):
    prompt = "\n".join(str(message["content"]) for message in body["messages"])
    return r"It is \boxed{7}." if r"\boxed" in prompt else "It is **7**."


@pytest.fixture(scope="module")
def agent():
    with EndpointServer(reply=reply) as server:
        yield ["agent=openai", "agent.model=m", f"agent.base_url={server.url}"]


def trajectories(folder):
    return list(read_trajectories(folder / "trajectories.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "command"),
    some(product((["math:Custom"], ["env=math/Custom", "tools=[python]"]), ("run", "eval"))),
)
def test_a_model_is_told_how_to_answer(tmp_path, gem, agent, command, words):
    done = gem(command, *words, DATA, *agent, "episodes=4", "out=run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [one.success for one in trajectories(tmp_path / "run")] == [True] * 4
    assert "required form" not in done.stderr
    config = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    assert config["answer_instruction"] == "default"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("switch", "command"),
    some(product(("answer_instruction=null", "env.prompt='{problem}'"), ("run", "eval"))),
)
def test_answers_without_the_form_are_quoted_with_the_option_that_asks_for_it(
    tmp_path, gem, agent, command, switch
):
    done = gem(command, "math:Custom", DATA, *agent, "episodes=4", "out=run", switch, cwd=tmp_path)
    assert done.returncode == 0
    assert not any(one.success for one in trajectories(tmp_path / "run"))
    (line,) = re.findall(r".*required form.*", done.stderr)
    assert "4 of 4 episodes of openai in math:Custom" in line
    assert "'It is **7**.'" in line
    assert r"in \boxed{}" in line
    assert "answer_instruction=default" in line


@pytest.mark.slow
def test_another_instruction_may_be_given(tmp_path, gem, agent):
    """It takes the place of the default one, and environments without one show it as well."""
    text = r"Reply with \boxed{ANSWER}, $5."
    words = ["math:Sample", "game:GuessTheNumber-v0-easy", *agent, "episodes=1", "out=run"]
    done = gem("eval", *words, f'answer_instruction="{text}"', cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for one in trajectories(tmp_path / "run"):
        assert one.turns[0].observation.endswith(f"\n\n{text}")
        assert one.turns[0].observation.count("boxed") <= 3


@pytest.mark.slow
def test_only_the_environments_of_a_mixture_that_need_it_have_an_instruction(tmp_path, gem, agent):
    mixture = ["+env@mixture.a=math/Sample", "+env@mixture.b=game/GuessTheNumber-v0-easy"]
    gem("run", *mixture, *agent, "episodes=12", "out=run", cwd=tmp_path)
    played = trajectories(tmp_path / "run")
    found = {one.reset_info["component"]: one.turns[0].observation for one in played}
    assert found["a"].endswith("Only the last box is read.")
    assert "Only the last box is read." not in found["b"]


@pytest.mark.slow
def test_a_run_is_replayed_and_continued_with_its_own_instruction(tmp_path, gem, agent):
    base = ["eval", "math:Custom", DATA, *agent, "out=run"]
    gem(*base, "episodes=2", cwd=tmp_path)
    assert "Nothing changes" in gem("replay", "run", cwd=tmp_path).stdout
    changed = gem("replay", "run", "answer_instruction=null", cwd=tmp_path)
    assert "2 in their observations" in changed.stdout
    done = gem(*base, "episodes=3", "resume=true", "answer_instruction=null", cwd=tmp_path)
    assert done.returncode == 1
    assert "answer_instruction: 'default' -> None" in done.stderr
    assert gem(*base, "episodes=3", "resume=true", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_a_replay_of_a_run_from_before_the_instruction_has_none(tmp_path, gem, agent):
    gem("eval", "math:Custom", DATA, *agent, "out=run", "answer_instruction=null", cwd=tmp_path)
    path = tmp_path / "run" / "run.json"
    info = json.loads(path.read_text())
    del info["config"]["answer_instruction"]
    path.write_text(json.dumps(info))
    assert "Nothing changes" in gem("replay", "run", cwd=tmp_path).stdout


@pytest.mark.slow
def test_answers_that_were_cut_are_counted(tmp_path, gem):
    with EndpointServer(reply="Let me think") as server:
        server.set_faults(["length"] * 3)  # one is for the preflight
        words = ["agent=openai", "agent.model=m", f"agent.base_url={server.url}", "out=run"]
        done = gem("eval", "math:Sample", *words, "episodes=2", cwd=tmp_path)
    assert "The model was told" in done.stderr
    assert "In 2 of them the model reached its token limit: raise max_tokens" in done.stderr


@pytest.mark.slow
def test_a_run_with_few_format_errors_has_no_advice(tmp_path, gem):
    words = ["agent=scripted", r"agent.actions=['\boxed{5}']", "episodes=4", "out=run"]
    done = gem("eval", "math:Sample", *words, cwd=tmp_path)
    assert "required form" not in done.stderr
