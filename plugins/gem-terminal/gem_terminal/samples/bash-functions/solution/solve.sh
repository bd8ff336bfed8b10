#!/bin/bash
set -e
cat > /app/lib.sh <<'END'
# Functions for scripts.

trim() {
  local text=$1
  text=${text#"${text%%[! $'\t']*}"}
  text=${text%"${text##*[! $'\t']}"}
  printf '%s\n' "$text"
}

join() {
  local separator=$1 result=${2-} word
  shift
  if [ $# -gt 0 ]; then shift; fi
  for word in "$@"; do
    result="$result$separator$word"
  done
  printf '%s\n' "$result"
}

contains() {
  local word=$1 item
  shift
  for item in "$@"; do
    if [ "$item" = "$word" ]; then return 0; fi
  done
  return 1
}

max() {
  if [ $# -eq 0 ]; then return 1; fi
  local best=$1 number
  for number in "$@"; do
    if [ "$number" -gt "$best" ]; then best=$number; fi
  done
  printf '%s\n' "$best"
}
END
