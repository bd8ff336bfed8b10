"""Plays a workload with an engine, under the interpreter that has the engine's library.

    python benchmarks/worker.py rollouts.play gem_core http://127.0.0.1:8000/v1 --out FOLDER

Engines are files in ``engines``. Nothing is printed: the endpoint counts the calls.
"""

import argparse
import importlib
from pathlib import Path

from rollouts.workload import Workload

__all__: list[str] = []


def main() -> None:
    """Play until all episodes are finished or the process is killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engine")
    parser.add_argument("url")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--turns", choices=("one", "several"), default="one")
    parser.add_argument("--episodes", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, required=True)
    options = vars(parser.parse_args())
    options["out"] = options["out"].resolve()
    engine = importlib.import_module(f"rollouts.engines.{options.pop('engine')}")
    engine.play(Workload(multi_turn=options.pop("turns") == "several", **options))
