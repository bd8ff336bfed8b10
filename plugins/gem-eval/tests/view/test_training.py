"""Training runs in the viewer: their curves, and the episodes that a point leads to."""

import json
import math
import shutil
import statistics

import pytest
from click.testing import CliRunner
from training_samples import evaluation, training_run, write_metrics
from view_browser import PHONE, chromium, go_to, serving, write_page

from gem_core.errors import ConfigError, DataError
from gem_eval.statistics import proportion_estimate, t_quantile
from gem_eval.view.command import view
from gem_eval.view.query import EpisodeQuery
from gem_eval.view.store import Store
from gem_eval.view.training import training


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return three seeds of one setting, and two of another."""
    folder = tmp_path_factory.mktemp("training")
    found = [training_run(folder / f"rebn-{seed}", seed=seed) for seed in range(3)]
    grpo = {"algo": {"id": "grpo"}, "loss": {"kl": 0.1}}
    return found + [training_run(folder / f"grpo-{seed}", seed=seed, **grpo) for seed in range(2)]


def opened(*runs):
    store = Store(runs)
    store.refresh()
    return store


class TestData:
    def test_a_run_has_its_metrics_by_step_and_its_evaluations_with_intervals(self, runs):
        """Steps without a metric have None for it, and the usual metrics come in panels."""
        with opened(runs[0]) as store:
            found = training(store)
        (run,) = found["runs"]
        assert run["steps"] == list(range(21))
        success = run["metrics"]["rollout/success"]
        assert success[0] is None
        assert all(0.1 < value < 0.9 for value in success[1:])
        titles = [panel["title"] for panel in found["panels"]]
        assert titles == ["Success", "Return", "Entropy", "Loss", "Gradient norm", "Learning rate"]
        assert found["further"] == 2
        (last,) = [row for row in found["logged"] if row["evaluation"] and row["step"] == 20]
        share = run["metrics"]["eval/success"][20]
        expected = proportion_estimate(
            [[1.0]] * round(20 * share) + [[0.0]] * round(20 * (1 - share))
        )
        assert last["success"]["mean"] == share
        assert last["success"]["low"] == pytest.approx(expected.low)
        assert last["success"]["high"] == pytest.approx(expected.high)

    def test_all_metrics_can_be_asked_for(self, runs):
        with opened(runs[0]) as store:
            found = training(store, every=True)
        assert found["panels"][-1]["series"] == {"sampler/rows": "rows"}
        assert found["runs"][0]["metrics"]["sampler/rows"] == [None, *[256.0] * 20]

    def test_runs_of_the_same_settings_are_a_group(self, runs):
        """Groups are named by what distinguishes them; single runs by their folders."""
        with opened(*runs) as store:
            found = training(store)
        assert [run["group"] for run in found["runs"]] == [0, 0, 0, 1, 1]
        assert found["groups"] == ["algo=rebn", "algo=grpo"]
        assert found["quantiles"][3] == pytest.approx(t_quantile(0.95, 2))
        with opened(runs[0], runs[3]) as store:
            assert training(store)["groups"] == ["", ""]

    def test_a_point_leads_to_the_episodes_of_its_step(self, runs):
        """Those of training and of the evaluation are told apart."""
        with opened(*runs[:2]) as store:
            found = training(store)["logged"]
            counts = {
                (row["source"], row["step"], row["evaluation"]): row["episodes"] for row in found
            }
            assert counts[0, 10, False] == counts[1, 10, False] == 8
            assert counts[1, 0, True] == 20
            assert (0, 0, False) not in counts
            page = store.page(EpisodeQuery(step=10, evaluation=False, source=1))
            assert page["total"] == 8
            assert {row["run"] for row in page["rows"]} != {0}
            labels = [one["label"] for one in store.series]
            assert labels[:2] == ["rebn-0 · training", "rebn-0 · evaluation"]

    def test_a_run_that_is_written_is_followed(self, tmp_path):
        """With a torn last line, an evaluation that began, and one that a resumed run replaced."""
        run = training_run(tmp_path / "run", steps=10)
        with opened(run) as store, (run / "metrics.csv").open("a") as file:
            before = store.state
            file.write("11,0.5")
            file.flush()
            assert store.refresh()
            assert store.state != before
            assert training(store)["runs"][0]["steps"][-1] == 10
            columns = (run / "metrics.csv").read_text().partition("\n")[0].count(",")
            file.write("," * (columns - 1) + "\n")
            file.flush()
            store.refresh()
            assert training(store)["runs"][0]["steps"][-1] == 11
            assert not store.refresh()
            evaluation(run, 15, [True] * 3)
            assert store.refresh()
            assert store.page(EpisodeQuery(step=15))["total"] == 3
            shutil.rmtree(run / "eval" / "000015")
            store.refresh()
            assert store.page(EpisodeQuery(step=15))["total"] == 0
            evaluation(run, 15, [True, False])
            store.refresh()
            assert store.page(EpisodeQuery(step=15))["total"] == 2

    @pytest.mark.parametrize("text", ["", "step\n", "step,train/loss\n", "step,train/loss\n1,0."])
    def test_a_run_without_a_finished_step_has_no_curves(self, tmp_path, text):
        (tmp_path / "metrics.csv").write_text(text)
        with opened(tmp_path) as store:
            assert store.size == 0
            assert not any(run["steps"] for run in training(store)["runs"])

    def test_values_that_are_not_finite_are_left_out(self, tmp_path):
        """So are metrics without any other value."""
        rows = [
            {"step": 1, "train/loss": math.nan, "train/lr": "inf"},
            {"step": 2, "train/loss": 1},
        ]
        write_metrics(tmp_path, rows)
        with opened(tmp_path) as store:
            found = training(store)
        assert found["runs"][0]["metrics"] == {"train/loss": [None, 1.0]}
        assert [panel["title"] for panel in found["panels"]] == ["Loss"]

    def test_runs_of_unknown_settings_are_not_averaged(self, tmp_path):
        runs = [tmp_path / name for name in "ab"]
        for run in runs:
            run.mkdir()
            write_metrics(run, [{"step": 1, "train/loss": 1}])
        with opened(*runs) as store:
            assert [run["group"] for run in training(store)["runs"]] == [0, 1]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a,b\n1,2\n", "not a table of metrics"),
            (f'step,train/loss\n1,"{"2" * 200_000}\n', "not a table of metrics: field larger"),
            (f"step,train/loss\n{'9' * 5000},1\n", "row 2: expected 2 cells, the first"),
        ],
    )
    def test_a_table_that_is_not_one_of_metrics_is_named(self, tmp_path, text, said):
        (tmp_path / "metrics.csv").write_text(text)
        with opened(tmp_path) as store, pytest.raises(DataError, match=said):
            training(store)

    def test_a_folder_without_episodes_and_metrics_is_an_error(self, tmp_path):
        with pytest.raises(ConfigError, match=r"neither trajectories\.jsonl nor metrics\.csv"):
            Store([tmp_path])


def test_links_to_episodes_stay_true_when_evaluations_are_added(tmp_path):
    """Also after a restart, and with several training runs."""
    runs = [training_run(tmp_path / name, steps=5) for name in ("a", "b")]
    sql = "SELECT id, source, step, evaluation, number FROM episodes ORDER BY id"
    with opened(*runs) as store:
        before = store.rows(sql)
        evaluation(runs[0], 10, [True, False])
        store.refresh()
        after = store.rows(sql)
    with opened(*runs) as store:
        assert store.rows(sql) == after
    assert len(after) == len(before) + 2
    assert all(row in after for row in before)


@pytest.fixture(scope="module")
def browser(runs):
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def server(runs):
    with serving(runs[0]) as server:
        yield server


def chart(page, title):
    return page.locator(f"[role=slider][aria-label^='{title},']")


@pytest.mark.slow
class TestPage:
    @pytest.mark.parametrize("mode", ["served", "one file"])
    def test_the_first_page_has_curves_that_lead_to_episodes(
        self, open_page, runs, server, mode, tmp_path
    ):
        """A point of training leads to the episodes of its step, one of an evaluation to those."""
        url = server.url if mode == "served" else write_page(tmp_path / "page.html", runs[0])
        page = open_page(url)
        assert page.url.endswith("#/training")
        page.wait_for_selector(".curve svg")
        assert page.locator(".curves h2").all_inner_texts()[:2] == ["Success", "Return"]
        point = chart(page, "Return").locator("circle.point").nth(2)  # the evaluation after step 10
        point.hover()
        assert "step 10" in page.locator(".curve-hint:visible").inner_text()
        point.click()
        page.wait_for_selector("h1:has-text('Episodes of the evaluation after step 10')")
        assert page.locator(".row-link").count() == 20
        page.go_back()
        page.wait_for_selector(".curve svg")
        chart(page, "Loss").click(position={"x": 120, "y": 100})
        page.wait_for_selector("h1:has-text('Episodes of step 5')")
        page.click(".row-link >> nth=0")
        page.wait_for_selector(".facts >> text=step 5")

    def test_the_keyboard_chooses_a_step_and_reads_its_values(self, open_page, server):
        """The exact values are the text of the slider."""
        page = open_page(server.url)
        loss = chart(page, "Entropy")
        loss.focus()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert loss.get_attribute("aria-valuenow") == "3"
        assert loss.get_attribute("aria-valuetext").startswith("Step 3. policy 0.333333. Enter: ")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('step 20')")

    def test_several_runs_are_a_mean_with_its_interval(self, open_page, runs):
        """The interval is that of Student's t over the runs that are drawn as one curve."""
        with serving(*runs) as server:
            page = open_page(server.url)
            assert "95 % intervals of the means (Student's t)" in page.inner_text("main")
            assert "algo=rebn (3 runs)" in page.inner_text("main")
            page.wait_for_selector(".curve svg")
            assert chart(page, "Loss").locator(".band").count() == 2
            assert chart(page, "Loss").locator(".line.faint").count() == 5
            entropies = training(server.shown)["runs"]
            values = [run["metrics"]["rollout/success"][20] for run in entropies[:3]]
            half = t_quantile(0.95, 2) * statistics.stdev(values) / math.sqrt(3)
            mean = statistics.mean(values)
            success = chart(page, "Success")
            success.focus()
            page.keyboard.press("End")
            shown = "{:.1f} % ({:.1f} % to {:.1f} %)".format(
                *(100 * v for v in (mean, mean - half, mean + half))
            )
            assert f"training {shown}" in success.get_attribute("aria-valuetext")
            page.click("text=Each run")
            page.wait_for_function("() => !document.querySelector('.band')")
            assert "runs=each" in page.url

    def test_curves_grow_by_themselves(self, open_page, tmp_path):
        """New steps appear while the page is open; the chosen step stays."""
        run = training_run(tmp_path / "run", steps=10)
        with serving(run) as server:
            page = open_page(server.url)
            loss = chart(page, "Loss")
            assert loss.get_attribute("aria-valuemax") == "10"
            loss.focus()
            page.keyboard.press("ArrowLeft")
            write_metrics(run, [{"step": step, "train/loss": 1 / step} for step in range(1, 31)])
            page.wait_for_selector("[aria-valuemax='30']")
            page.wait_for_selector("[aria-valuenow='9']")
            assert chart(page, "Success").count() == 0

    def test_many_steps_are_thinned_and_their_values_stay_exact(self, open_page, tmp_path):
        """A path has a few points for each pixel, among them the highest."""
        rows = [{"step": step, "train/loss": step % 97 + step / 1e4} for step in range(1, 10_001)]
        rows[4999]["train/loss"] = 1234.5
        write_metrics(tmp_path, rows)
        with serving(tmp_path) as server:
            page = open_page(f"{server.url}#/training?raw=1")
            page.wait_for_selector(".curve path.line")
            path = page.locator(".curve path.line").get_attribute("d")
            assert 300 < path.count("L") < 5000
            loss = chart(page, "Loss")
            loss.focus()
            page.keyboard.press("Home")
            for _ in range(5):
                page.keyboard.press("PageUp")
            page.keyboard.press("ArrowLeft")
            assert loss.get_attribute("aria-valuetext") == "Step 5000. policy 1234.5"

    def test_a_supervised_run_has_its_losses(self, open_page, tmp_path):
        """Its demonstrations belong to no step."""
        (tmp_path / "trajectories.jsonl").touch()
        rows = [{"step": step, "train/loss": 1 / step, "train/lr": 0.1} for step in range(1, 9)]
        write_metrics(tmp_path, [{"step": 0, "validation/loss": 7}, *rows])
        with serving(tmp_path) as server:
            page = open_page(server.url)
            assert page.locator(".curves h2").all_inner_texts() == ["Loss", "Learning rate"]
            assert "held-out episodes" in page.inner_text(".curves")
            assert page.locator(".curve.leads").count() == 0

    @pytest.mark.parametrize("mode", ["served", "one file"])
    def test_names_of_metrics_and_settings_are_never_executed(self, open_page, tmp_path, mode):
        """They are shown as text."""
        text = "<img src=x onerror='window.hacked=1'></script><script>window.hacked=1</script>"
        paths = []
        for name in ("a", "b", "c"):
            paths.append(tmp_path / name / text.replace("/", "|"))
            paths[-1].mkdir(parents=True)
            config = {"algo": text if name == "c" else "x"}
            (paths[-1] / "run.json").write_text(json.dumps({"config": config}))
            rows = [{"step": 1, text: 1.0, "__proto__": 2.0, f"rollout/{text}/success": 0.5}]
            write_metrics(paths[-1], rows)
        with serving(*paths) as server:
            url = server.url if mode == "served" else write_page(tmp_path / "page.html", *paths)
            page = open_page(url)
            for place in ("training?every=1", "training?every=1&runs=each"):
                go_to(page, f"#/{place}")
                page.wait_for_selector(".curve svg")
                for one in page.locator(".curve").all():
                    one.focus()
                    page.keyboard.press("End")
                assert text[:20] in page.inner_text("main")
                assert page.locator("main img, main script").count() == 0
            assert page.evaluate("window.hacked") is None

    def test_the_page_fits_a_phone(self, open_page, runs):
        with serving(*runs) as server:
            page = open_page(server.url, size=PHONE)
            page.wait_for_selector(".curve svg")
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_command_names_a_folder_that_is_not_a_run(tmp_path):
    """It says what a run has."""
    result = CliRunner().invoke(view, [str(tmp_path)])
    assert "neither trajectories.jsonl nor metrics.csv" in f"{result.output}{result.exception}"
