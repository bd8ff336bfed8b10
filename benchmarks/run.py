"""Runs the benchmarks: ``python benchmarks/run.py SUITE``; ``SUITE --help`` shows its options.

Each suite writes its tables to ``benchmarks/results`` as Markdown, and every round as JSON.
"""

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITES = {
    "adapters": "CPU time that adapters for trainers add to a turn",
    "baselines": "agents without a model, tiny models and a real one in all families",
    "compare": "gem-core and gem-llm: start-up, vectors, games, tasks, tools (about 35 minutes)",
    "gateway": "CPU time that the gateway for agent programs adds to a call",
    "growth": "how figures grow with the work, such as n ids, agents, plugins (15 minutes)",
    "gpu": "training on one GPU: memory and time of a learning step, whole runs (5 minutes)",
    "grading": "errors of graders of mathematical answers on labelled pairs",
    "learning": "studies of gem-train's algorithms on a CPU (an hour)",
    "levels": "how hard the levels of games are, gem-core and gem-llm",
    "machines": "starts, commands, forks and memory of machines",
    "migration": "one script with gem-compat and with gem-llm",
    "real-model": "a pretrained language model before and after training (7 minutes on a GPU)",
    "ray": "Ray actors: costs of a step, environments that sleep, nodes that are killed",
    "rollouts": "engines that play many episodes at the same time against an endpoint",
    "sampling": "what a local sampler adds to the forward passes of its model",
    "serve": "the server of environments: CPU a step, idle sessions, lost connections",
    "soak": "the server of environments through restarts: lost episodes, and what stays open",
    "swe": "software engineering: usable bugs, starts, gradings, forks",
    "tau": "dialogues over a database: import, resets, episodes, digests, memory",
    "trl": "GRPO steps of gem-train and of TRL",
    "webshop": "WebShop: speed, memory, a large catalogue, and the original beside it",
    "wikigame": "WikiGame: opening of graphs, resets, steps, memory, players without a model",
}


def main() -> None:
    """Run the suite that the command line names."""
    listed = "\n".join(f"  {name:10} {about}" for name, about in SUITES.items())
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\nsuites:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=len(sys.argv) < 3,
    )
    parser.add_argument("suite", choices=SUITES, metavar="SUITE")
    chosen, rest = parser.parse_known_args()
    packages = {"ray": "ray_pool", "real-model": "real_model", "trl": "trl_steps"}
    folder = packages.get(chosen.suite, chosen.suite)
    suite = importlib.import_module(f"{folder}.suite")
    options = argparse.ArgumentParser(
        prog=f"run.py {chosen.suite}",
        description=suite.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--output", type=Path, default=HERE / "results", metavar="FOLDER")
    suite.add_arguments(options)
    suite.run(options.parse_args(rest))


if __name__ == "__main__":
    main()
