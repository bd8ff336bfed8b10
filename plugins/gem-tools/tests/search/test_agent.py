"""An agent that searches and answers from what it finds solves qa:Sample."""

import pytest

from gem_core import BaseAgent, make
from gem_qa.scoring import normalize_answer


class Reader(BaseAgent):
    """Searches as it is told, and answers with a right answer only if the last result shows it.

    It knows nothing by itself: what it scores is what the search gives it.
    """

    def __init__(self, searches):
        self.searches = {row["question"]: row["searches"] for row in searches}

    def reset(self, env):
        self.golds = env.unwrapped.golds
        self.plan = list(self.searches[env.unwrapped.row["question"]])
        self.searched = []

    def act(self, observation, info):
        if len(self.searched) < len(self.plan):
            search = self.plan[len(self.searched)]
            self.searched.append(search)
            return f"<think>I look it up.</think> <search>{search['query']}</search>"
        return f"<think>It is written there.</think> <answer>{self.read(observation)}</answer>"

    def read(self, observation):
        shown = f" {normalize_answer(observation)} "
        if {"yes", "no"} & set(self.golds):  # such an answer is drawn, not read
            title = f'(Title: "{self.plan[-1]["title"]}")'
            return self.golds[0] if title in observation else "unknown"
        return next((g for g in self.golds if f" {normalize_answer(g)} " in shown), "unknown")


def play(searches, tool):
    """Play every question once, and return which were answered correctly."""
    correct = []
    with make("qa:Sample", tools=[tool]) as env:
        for number in range(len(searches)):
            agent = Reader(searches)
            observation, info = env.reset(idx=number)
            agent.reset(env)
            ended = False
            while not ended:
                step = env.step(agent.act(observation, info))
                observation, info, ended = step.observation, step.info, step.terminated
            correct.append(info["correct"])
    return correct


@pytest.mark.slow
def test_an_agent_solves_every_question_through_the_server(server_url, sample_searches):
    tool = {"id": "search", "search_url": f"{server_url}/retrieve"}
    assert play(sample_searches, tool) == [True] * len(sample_searches)


@pytest.mark.slow
def test_an_agent_solves_every_question_in_process(sample_searches):
    assert all(play(sample_searches, {"id": "search", "backend": "bm25"}))


@pytest.mark.slow
def test_an_agent_solves_no_question_with_another_corpus(sample_searches, write_corpus):
    corpus = str(write_corpus([{"title": "Cat", "text": "It purrs."}]))
    played = play(sample_searches, {"id": "search", "backend": {"id": "bm25", "corpus": corpus}})
    assert not any(played)


@pytest.mark.parametrize("backend", ["bm25", "server"])
def test_a_composed_stack_shows_questions_searches_and_results(backend, server_url):
    more = {"backend": "bm25"} if backend == "bm25" else {"search_url": f"{server_url}/retrieve"}
    env = make("qa:Sample", tools=[{"id": "search", **more}], wrappers=["concat"])
    observation, _ = env.reset(seed=3)
    assert "<search>" in observation
    step = env.step("<search>capital of Peru</search>")
    assert "<information>Doc 1(Title:" in step.observation
    assert "Lima" in step.observation
    assert step.info["use_tool"]
