#!/bin/bash
# Prints results as pytest does with -rA, and needs no packages.
if [ "$(cat /app/longest.txt)" = "$(cat "$TEST_DIR/longest.txt")" ]; then
  echo "PASSED test_outputs.py::test_longest"
else
  echo "FAILED test_outputs.py::test_longest"
fi
