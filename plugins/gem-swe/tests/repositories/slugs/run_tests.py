"""Run the tests: `python3 run_tests.py`, or `python3 run_tests.py NAME ...` for those whose name has NAME."""

import importlib.util
import sys
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parent


def main(wanted: list[str]) -> int:
    sys.path.insert(0, str(TOP))
    passed = failed = 0
    for path in sorted((TOP / "tests").glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, test in vars(module).items():
            if not name.startswith("test_") or not all(one in name for one in wanted):
                continue
            try:
                test()
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED tests/{path.name}::{name}\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
