"""The benchmark's own parts run; its comparison needs gem-llm and is not run here."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
GAME = "game:GuessTheNumber-v0-easy"


def run(script, *arguments, timeout=120):
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def load(name):
    """Import a module of the benchmarks, which are not installed."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))


def measure(name, **arguments):
    pairs = [f"{key}={value}" for key, value in arguments.items()]
    done = run("worker.py", "compare.measuring", "gem_core", name, *pairs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "suite",
    [
        "baselines",
        "compare",
        "grading",
        "growth",
        "learning",
        "levels",
        "migration",
        "rollouts",
        "soak",
        "tau",
        "trl",
        "wikigame",
    ],
)
def test_every_suite_is_listed_and_explains_itself(suite):
    assert f"  {suite}" in run("run.py", "--help").stdout
    done = run("run.py", suite, "--help")
    assert done.returncode == 0, done.stderr
    assert f"usage: run.py {suite}" in done.stdout


def test_an_unknown_group_is_refused_and_the_known_ones_are_named():
    done = run("run.py", "compare", "--only", "speed")
    assert done.returncode == 2
    assert "startup" in done.stderr


def test_a_comparison_without_the_peer_writes_tables_and_rounds(tmp_path):
    done = run(
        "run.py", "compare", "--own", "--quick", "--only", "startup", "--output", str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert "| one game |" in (tmp_path / "compare-quick-startup.md").read_text()
    rounds = json.loads((tmp_path / "compare-quick-startup.json").read_text())["rounds"]
    assert len(rounds["startup"]["one game"]["gem_core"]) == 2


def test_startup_counts_the_library_and_what_it_imports():
    figures = measure("startup", env_id=GAME)
    assert figures["modules"] > 10
    assert 5 < figures["peak_rss_mib"] < 1000
    assert figures["import_and_make_s"] > 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("game", {"env_id": GAME, "seconds": 0.01}),
        ("vector", {"env_id": GAME, "num_envs": 3, "executor": "threads", "seconds": 0.01}),
        (
            "straggler",
            {"env_id": GAME, "num_envs": 3, "delay": 0.01, "wait_for": 2, "seconds": 0.05},
        ),
        ("history", {"turns": 4, "seconds": 0.01}),
    ],
)
def test_each_measurement_of_speed_returns_positive_figures(name, arguments):
    figures = measure(name, **arguments)
    assert figures
    assert all(value > 0 for value in figures.values())


def test_an_environment_shows_the_same_in_a_vector_as_alone():
    figures = measure("reproducibility", env_id=GAME, executor="threads", num_envs=3, turns=12)
    assert figures == {"first_episode": 3, "across_resets": 3}


def test_a_game_without_known_actions_fails_with_a_hint_instead_of_figures():
    done = run(
        "worker.py",
        "compare.measuring",
        "gem_core",
        "game",
        "env_id=game:Nothing-v0",
        "seconds=0.01",
    )
    assert done.returncode != 0
    assert "Nothing" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("family", ["math", "qa"])
@pytest.mark.parametrize(("kind", "num_envs"), [("same", 1), ("equivalent", 2), ("wrong", 1)])
def test_answers_are_graded_as_the_benchmark_expects(family, kind, num_envs):
    figures = measure("answers", family=family, kind=kind, num_envs=num_envs, seconds=0.02)
    assert figures["answers_per_s"] > 0
    assert figures["as_expected"] == 1


def test_making_and_resetting_tasks_is_timed():
    figures = measure("task_start", family="math", num_envs=2, seconds=0.01)
    assert set(figures) == {"make_ms", "make_many_ms", "resets_per_s"}
    assert all(value > 0 for value in figures.values())


@pytest.mark.parametrize("where", ["process", "stub", "server"])
def test_searches_are_timed_and_none_fails(where):
    figures = measure("search_calls", where=where, episodes=3, seconds=0.2)
    assert figures["calls_per_s"] > 0
    assert figures["failed"] == 0


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_calls_of_mcp_servers_are_timed_and_none_fails(transport):
    figures = measure("mcp_calls", transport=transport, episodes=3, seconds=0.2)
    assert figures["calls_per_s"] > 0
    assert figures["failed"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_graph_of_wikigame_is_measured():
    done = run("worker.py", "wikigame.measure", "world", "20")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["steps per second"] > 0
    assert figures["first reset"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_dialogues_are_measured_with_an_oracle_that_is_paid(tmp_path):
    done = run("run.py", "tau", "tau:Retail-Sample", "--rounds", "1", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    (figures,) = json.loads((tmp_path / "tau.json").read_text())["tau:Retail-Sample"]
    assert all(value > 0 for value in figures.values())
    assert "| oracle's episode |" in (tmp_path / "tau.md").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_counts_the_processes_that_environments_start():
    figures = measure("memory", num_envs=2)
    assert figures["processes"] > 1
    assert 10 < figures["pss_mib"] < figures["rss_mib"]


@pytest.mark.parametrize("kind", ["bare", "sympy"])
def test_programs_are_run_for_concurrent_callers(kind):
    figures = measure("programs", kind=kind, callers=3, seconds=0.1, sandbox="warm")
    assert figures["as_expected"] == 1
    assert figures["runs_per_s"] > 0
    assert figures["cpu_ms"] > 0
    assert figures["p99_to_median"] >= 1


def test_programs_are_graded_by_their_tests():
    figures = measure("judging", callers=2, seconds=0.1, sandbox="warm")
    assert figures["as_expected"] == 1
    assert figures["programs_per_s"] > 0


def test_problems_have_distinct_answers_and_the_same_come_from_a_seed():
    problems = load("compare.problems").make_problems("math", count=50, seed=3)
    assert problems == load("compare.problems").make_problems("math", count=50, seed=3)
    assert all(len({one.same, one.equivalent, one.wrong}) == 3 for one in problems)
    assert [one.row["answer"] for one in problems] == [one.same for one in problems]


def write_pairs(path, *pairs):
    keys = ("answer", "gold", "equal", "category")
    lines = [json.dumps(dict(zip(keys, pair, strict=True))) for pair in pairs]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def grade_pairs(tmp_path, *pairs, options=("--only", "gem_core")):
    path = write_pairs(tmp_path / "pairs.jsonl", *pairs)
    return run("run.py", "grading", "--pairs", path, "--output", str(tmp_path), *options)


def test_graders_are_counted_against_the_labels_and_ambiguous_pairs_are_not(tmp_path):
    done = grade_pairs(
        tmp_path,
        ("0.5", r"\frac12", True, "fractions"),
        ("0.5", r"\frac13", True, "mislabelled"),
        ("7", "7", False, "mislabelled"),
        ("5", "5 cm", None, "ambiguous"),
    )
    assert done.returncode == 0, done.stderr
    document = (tmp_path / "grading.md").read_text()
    assert "3 pairs of `pairs.jsonl`, of which 2 are equal" in document
    assert "| 0.333 | 1 | 1 | 0 |" in document
    assert "| mislabelled | 2 | 1 + 1 |" in document
    assert len(json.loads((tmp_path / "grading.json").read_text())) == 3


def test_a_grader_that_is_stuck_has_no_verdict_and_the_next_pair_is_graded(tmp_path):
    grading = load("grading.suite")
    script = tmp_path / "grader.py"
    script.write_text(
        "import json, sys, time\n"
        "print('true', flush=True)\n"  # on the pair before the clock starts
        "sys.stdin.readline()\n"
        "for line in sys.stdin:\n"
        "    answer, gold = json.loads(line)\n"
        "    time.sleep(60 if answer == 'stuck' else 0)\n"
        "    if answer == 'crash': sys.exit(1)\n"
        "    print(json.dumps(answer == gold), flush=True)\n"
    )
    grader = grading.Grader([sys.executable, str(script)], 1.0)
    answers = ["1", "stuck", "1", "crash", "2"]
    said = [grader.grade(grading.Pair(one, "1", equal=True, category="")).said for one in answers]
    grader.close()
    assert said == [True, "no verdict", True, "it died", False]


def test_an_unknown_category_of_pairs_is_refused_and_the_known_ones_are_named(tmp_path):
    options = ("--only", "gem_core", "--category", "unit")
    done = grade_pairs(tmp_path, ("5 cm", "5 m", False, "units"), options=options)
    assert done.returncode != 0
    assert "units" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_rollouts_are_measured_and_none_is_lost_to_faults_or_a_kill(tmp_path):
    done = run(
        "run.py",
        "rollouts",
        "--quick",
        "--engine",
        "gem-core",
        "--concurrency",
        "8",
        "--seconds",
        "0.2",
        "--episodes",
        "200",
        "--output",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert "Not measured" not in done.stdout
    rounds = json.loads((tmp_path / "rollouts-quick.json").read_text())
    for scenario in ("0ms", "20ms", "tail"):
        [figures] = rounds[scenario]["gem-core"]["8"]
        assert figures["turns_per_s"] > 0
        assert figures["peak_rss_mib"] > 10
    assert rounds["faults"]["gem-core"][""][0]["lost"] == 0
    assert rounds["kill"]["gem-core"][""][0]["lost"] == 0
    assert rounds["eval"]["gem-core"][""][0]["seconds"] > 0


def test_bare_loops_play_the_same_episodes(tmp_path):
    for engine in ("aiohttp_loop", "openai_loop"):
        with load("rollouts.endpoint").NotingServer() as server:
            done = run(
                "worker.py",
                "rollouts.play",
                engine,
                server.url,
                "--concurrency",
                "4",
                "--turns",
                "several",
                "--episodes",
                "12",
                "--out",
                str(tmp_path),
            )
            assert done.returncode == 0, done.stderr
            assert server.counts()["finished"] == 12
            assert server.counts()["completed"] == 44
            assert server.counts()["redone"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_engine_that_fails_is_named_with_its_last_word(tmp_path):
    done = run(
        "run.py",
        "rollouts",
        "--quick",
        "--only",
        "0ms",
        "--engine",
        "gem-core",
        "--concurrency",
        "2",
        "--seconds",
        "0.1",
        "--output",
        str(tmp_path),
        "--command",
        f"broken={sys.executable} -c 'raise ValueError(7)'",
    )
    assert done.returncode == 0, done.stderr
    document = (tmp_path / "rollouts-quick-0ms.md").read_text()
    assert "Not measured: broken, 0ms, 2: ValueError: 7." in document
    assert "| gem-core |" in document


def test_steps_of_trainers_are_compared_turn_by_turn():
    """A pause of the machine in one turn of one side moves no ratio."""
    report = load("trl_steps.report")
    seconds = {"gem_train": [1.0, 1.0, 9.0, 1.0, 1.0, 1.0], "trl": [2.0, 2.0, 2.0, 2.0, 3.0, 3.0]}
    steps = {
        side: [
            {"seconds": one, "cpu": one, "sampling": 0.5, "tokens": 64, "turns": 1.0, "reward": one}
            for one in values
        ]
        for side, values in seconds.items()
    }
    setting = load("trl_steps.setting").Setting(
        entry_point="module:Env", multi_turn=False, model="model", threads=1, steps=6
    )
    found = report.Comparison(
        task="reverse", setting=setting, steps_of_a_turn=2, versions={"trl": "1"}, steps=steps
    )
    assert found.ratio("seconds") == 2.0  # of 2, 0.4 and 3
    assert found.median("trl", "seconds") == 2.0
    assert "| episodes/s | 64 | 32 | 2.00 |" in "\n".join(report.parts_of([found]))


def test_restarts_of_a_server_lose_no_episode_and_leave_nothing_open(tmp_path):
    done = run("run.py", "soak", "--episodes", "300", "--restarts", "4", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "soak.json").read_text())
    assert (found["played"]["equal"], found["played"]["lost"]) == (300, 0)
    states = dict(found["states"])
    assert states["server after"]["sessions"] == 0
    for name in ("server", "client"):
        before, after = states[f"{name} before"], states[f"{name} after"]
        assert after["processes"] == before["processes"]
        assert after["descriptors"] <= before["descriptors"] + 2


@pytest.mark.timeout(3600)
def test_no_figure_grows_faster_than_its_row_allows(tmp_path):
    done = run("run.py", "growth", "--output", str(tmp_path), timeout=3500)
    assert done.returncode == 0, done.stdout + done.stderr


def test_some_rows_of_growth_are_measured_at_two_sizes(tmp_path):
    done = run("run.py", "growth", "mixture_alive", "--quick", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "growth-quick-mixture_alive.json").read_text())
    assert written == {"mixture_alive": {"100": [80], "400": [80]}}
    document = (tmp_path / "growth-quick-mixture_alive.md").read_text()
    assert "| 100 | 80 | 80 | - | flat | 1 (1.5) | - |" in document
    done = run("run.py", "growth", "mixture_aliev", "--output", str(tmp_path))
    assert done.returncode == 1
    assert "mixture_alive" in done.stderr


@pytest.mark.parametrize(
    ("growth", "figures", "too_fast"),
    [
        (1, {1: [1.0], 4: [6.0], 16: [24.0]}, False),
        (1, {1: [1.0], 4: [6.1], 16: [24.0]}, True),
        (1, {1: [1.0], 4: [6.1, 5.0], 16: [99.0, 20.0]}, False),
        (0, {1: [2.0], 4: [2.0], 16: [2.9]}, False),
        (0, {1: [2.0], 4: [2.0], 16: [3.1]}, True),
        (0, {1: [0.0], 4: [0.0], 16: [0.0]}, False),
        (0, {1: [0.0], 4: [0.1]}, True),
    ],
)
def test_a_figure_may_grow_as_its_row_allows_and_a_half_more(growth, figures, too_fast):
    row = load("growth.suite").Row("a figure", (1, 4, 16), growth, figures)
    assert row.is_too_fast is too_fast
