#!/usr/bin/env bash
# Tests the adapters with their frameworks, each in a virtual environment of its own.
#
#   tests/ci/adapters.sh [NAME ...]
#
# NAME is a file of plugins/gem-adapters/tests/frameworks without its ending. A framework that is
# named must be installable; without names, all are tried, and those that cannot be installed are
# left out with the reason. PYTHON is the interpreter, TORCH the requirement of torch, and ARGS more
# arguments for pytest. With NEWEST=yes, frameworks are installed in their newest versions instead of
# those that are pinned. The environments are kept in .venv-adapters.
set -uo pipefail
cd "$(dirname "$0")/../.."
unset PYTHONDONTWRITEBYTECODE # modules are compiled when they are first imported
requirements=plugins/gem-adapters/tests/frameworks
python=${PYTHON:-python3}
torch=${TORCH:-torch}
newest=${NEWEST:+.newest}
names=("$@")
required=yes
if [ ${#names[@]} = 0 ]; then
  required=
  for file in "$requirements"/*.txt; do
    name=$(basename "$file" .txt)
    [[ $name == *.* ]] || names+=("$name")
  done
fi
missing=()
failed=()

# What every environment has: the core, the libraries, and the plugins whose environments are used.
ours() {
  local part
  for part in . libs/* plugins/gem-adapters plugins/gem-agents plugins/gem-games plugins/gem-math plugins/gem-rg \
    plugins/gem-sandbox plugins/gem-serve plugins/gem-tools plugins/gem-train; do
    printf -- '-e\n%s\n' "$part"
  done
}

install() {
  local venv=$1 name=$2 torch=$torch stamp
  stamp=$(cat "$requirements/$name"*.txt "$0" pyproject.toml libs/*/pyproject.toml | cksum)
  stamp+=${newest:+ $(date +%F)}
  [ "$(cat "$venv/.installed" 2>/dev/null)" = "$stamp" ] && return
  local pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
  local tests=('pytest>=9' pytest-timeout pytest-xdist hypothesis jinja2 'transformers>=4.45')
  "$python" -m venv "$venv" || return
  [[ $name != openenv* ]] || torch= # clients of our server
  "${pip[@]}" 'pip>=26' 'hatchling>=1.27' 'editables>=0.5' ${torch:+"$torch"} || return
  ours | xargs "${pip[@]}" --no-deps --no-build-isolation || return
  # In one call, so that pip finds versions that fit all of them.
  sed "${newest:+s/==[^ ;]*//}" "$requirements/$name.txt" >"$venv/requirements.txt" || return
  "${pip[@]}" ${torch:+"$torch"} gem-core gem-rollout gem-adapters gem-agents gem-games gem-math gem-rg gem-sandbox \
    gem-serve gem-tools gem-train "${tests[@]}" -r "$venv/requirements.txt" || return
  if [ -e "$requirements/$name.no-deps.txt" ]; then
    # Oat's actors need an older Python; its types do not.
    "${pip[@]}" --no-deps --ignore-requires-python -r "$requirements/$name.no-deps.txt" || return
  fi
  echo "$stamp" >"$venv/.installed"
}

for name in "${names[@]}"; do
  if [ ! -e "$requirements/$name.txt" ]; then
    echo "there is no $requirements/$name.txt" >&2
    exit 2
  fi
  printf '\n== %s\n' "$name"
  venv=.venv-adapters/$name$newest
  if ! errors=$(install "$venv" "$name" 2>&1); then
    reason=$(grep -E '^ *(ERROR|fatal):' <<<"$errors" | tail -n 1 | sed 's/^ *//')
    echo "$name cannot be installed: ${reason:-$(tail -n 1 <<<"$errors")}"
    missing+=("$name")
    continue
  fi
  tests=(plugins/gem-adapters/tests/test_conformance.py)
  [ ! -e "plugins/gem-adapters/tests/test_$name.py" ] || tests+=("plugins/gem-adapters/tests/test_$name.py")
  [ ! -e "docs/tutorials/$name.md" ] || tests+=(tests/nightly/test_docs.py)
  case $name in # clients of the server of environments
    openenv_old) tests=(plugins/gem-serve/tests/server/test_openenv.py) ;;
    openenv*) tests=("plugins/gem-serve/tests/server/test_$name.py") ;;
  esac
  # Warnings of frameworks are not errors.
  # shellcheck disable=SC2086 - ARGS are words
  GEM_TEST_ADAPTERS=$name "$venv/bin/python" -m pytest -q -W default -p no:asyncio -k "${name%_old}" "${tests[@]}" ${ARGS:-} ||
    failed+=("$name")
done

printf '\n'
[ ${#missing[@]} = 0 ] || echo "not installed: ${missing[*]}"
[ ${#failed[@]} = 0 ] || echo "failed: ${failed[*]}"
[ ${#failed[@]} = 0 ] && { [ ${#missing[@]} = 0 ] || [ -z "$required" ]; }
