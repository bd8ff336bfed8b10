"""Takes one measurement of one library and prints it as one line of JSON.

    python worker.py gem_core vector num_envs=64 executor=serial seconds=0.3 env_id=game:...

It runs under the interpreter that has the library: gem_core or gem_llm. A measurement is a file in
``measures``; values are read as numbers where they can be, as text otherwise.
"""

import sys


def main() -> None:
    """Run the measurement that the command line names."""
    side, name, *pairs = sys.argv[1:]
    module = getattr(__import__(f"measures.{name}"), name)
    # Whatever a library prints must not mix with the result.
    result_stream, sys.stdout = sys.stdout, sys.stderr
    result = module.measure(side, **_arguments(pairs))
    import json  # noqa: PLC0415 - libraries pay for json themselves when their import is timed

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


if __name__ == "__main__":
    main()
