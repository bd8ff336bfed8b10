# Functions for scripts.

trim() {
  echo $1
}

join() {
  separator=$1
  shift
  result=$1
  for word in $@; do
    result="$result$separator$word"
  done
  echo $result
}

contains() {
  word=$1
  shift
  echo "$@" | grep -q $word
}

max() {
  best=0
  for number in "$@"; do
    if [ "$number" \> "$best" ]; then best=$number; fi
  done
  echo $best
}
