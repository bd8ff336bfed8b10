"""The ids of the plugin, with their datasets, splits and columns."""

import gem_core

# id: dataset, split, question column, whether the answer is boxed
HUB = {
    "logic:RuleTaker-d0": ("axon-rl/RuleTaker-d0-70k", "train", "question", True),
    "logic:RuleTaker-d1": ("axon-rl/RuleTaker-d1-70k", "train", "question", True),
    "logic:RuleTaker-d2": ("axon-rl/RuleTaker-d2-70k", "train", "question", True),
    "logic:RuleTaker-d3": ("axon-rl/RuleTaker-d3-70k", "train", "question", True),
    "logic:RuleTaker-d5": ("axon-rl/RuleTaker-d5-70k", "train", "question", True),
    "qa:NaturalQuestions": ("axon-rl/NaturalQuestions", "train", "problem", False),
    "qa:HotpotQA": ("axon-rl/HotpotQA", "train", "problem", False),
    "eval:QaOpen": ("google-research-datasets/nq_open", "validation", "question", False),
    "eval:2Wiki": ("axon-rl/search-eval", "2wiki", "question", False),
    "eval:PopQA": ("axon-rl/search-eval", "popqa", "question", False),
    "eval:TriviaQA": ("axon-rl/search-eval", "tq", "question", False),
    "eval:HotpotQA": ("axon-rl/search-eval", "hotpotqa", "question", False),
    "eval:Bamboogle": ("axon-rl/search-eval", "bamboogle", "question", False),
    "eval:NaturalQuestions": ("axon-rl/search-eval", "nq", "question", False),
    "eval:Musique": ("axon-rl/search-eval", "musique", "question", False),
}


def test_each_id_reads_its_dataset_and_only_evaluation_sets_keep_their_order(subtests):
    keys = "dataset_name", "split", "question_key", "extract_boxed"
    for env_id, expected in HUB.items():
        with subtests.test(env_id):
            given = gem_core.spec(env_id).kwargs
            kwargs = {"question_key": "question", "extract_boxed": False, **given}
            assert tuple(kwargs[key] for key in keys) == expected
            assert "answer_key" not in kwargs
            assert kwargs.get("shuffle", True) == (not env_id.startswith("eval:"))


def test_the_plugin_registers_these_ids_and_the_samples():
    ids = [spec.id for spec in gem_core.find_envs("*") if spec.source.startswith("gem-qa")]
    assert sorted(ids) == sorted([*HUB, "qa:Custom", "qa:Sample", "logic:Sample"])
