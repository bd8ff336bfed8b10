"""Takes one measurement of one library and prints it as one line of JSON.

    python worker.py compare.measuring gem_core vector num_envs=64 executor=serial seconds=0.3 ...

It runs under the interpreter that has the library: gem_core or gem_llm. A measurement is a file in
``measures``; values are read as numbers if possible, otherwise as text.
"""

import sys


def main() -> None:
    """Take the measurement that the command line names."""
    side, name, *pairs = sys.argv[1:]
    module = __import__(f"compare.measures.{name}", fromlist=["measure"])
    # Output of the library must not mix with the result.
    result_stream, sys.stdout = sys.stdout, sys.stderr
    result = module.measure(side, **_arguments(pairs))
    import json  # noqa: PLC0415 - an import that the library may need, so it is timed there

    result_stream.write(json.dumps(result) + "\n")


def _arguments(pairs: list[str]) -> dict[str, object]:
    arguments: dict[str, object] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        arguments[name] = _number_or_text(text)
    return arguments


def _number_or_text(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
