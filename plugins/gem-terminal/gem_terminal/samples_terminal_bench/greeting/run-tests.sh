#!/bin/bash
# Prints results as pytest does with -rA, and needs no packages.
if sed 's/.*/Hello, &!/' "$TEST_DIR/names.txt" | cmp - /app/greetings.txt; then
  echo "PASSED test_outputs.py::test_greetings"
else
  echo "FAILED test_outputs.py::test_greetings"
fi
