#!/usr/bin/env bash
# Tests agent programs with the gateway: each plays episodes on machines without a network.
#
#   tests/ci/harness.sh [NAME ...]
#
# NAME is codex, claude, opencode, mini, openai-sdk or anthropic-sdk. A program that is named must be
# installable; without names, all are tried, and those that cannot be installed are left out with the
# reason. PYTHON is the interpreter of the virtual environments, BIN the folder of the one with
# gem-core and pytest, EPISODES the episodes of each program, and ARGS more arguments for pytest. The
# programs are kept in .venv-harness; remove a folder there to get the newest version.
set -uo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
bin=${BIN:-.venv/bin}
names=("$@")
required=yes
if [ ${#names[@]} = 0 ]; then
  required=
  names=(codex claude opencode mini openai-sdk anthropic-sdk)
fi
declare -A packages=(
  [codex]=@openai/codex [claude]=@anthropic-ai/claude-code [opencode]=opencode-ai
  [mini]=mini-swe-agent [openai-sdk]=openai [anthropic-sdk]=anthropic
)
installed=()
missing=()

install() {
  local folder=$1 name=$2
  [ -e "$folder/.installed" ] && return
  mkdir -p "$folder"
  case $name in
    codex | claude | opencode)
      command -v npm >/dev/null || { echo "npm is not installed" >&2; return 1; }
      npm install --silent --no-fund --no-audit --prefix "$folder" "${packages[$name]}" || return
      # Some versions of npm do not run the scripts of packages.
      local script
      for script in install.cjs postinstall.mjs; do
        script=$folder/node_modules/${packages[$name]}/$script
        [ ! -e "$script" ] || (cd "${script%/*}" && node "${script##*/}") || return
      done
      ;;
    *)
      "$python" -m venv "$folder" || return
      "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[$name]}" || return
      ;;
  esac
  touch "$folder/.installed"
}

version() {
  case $2 in
    codex | claude | opencode)
      node -p "require('./$1/node_modules/${packages[$2]}/package.json').version"
      ;;
    *) "$1/bin/python" -c "import importlib.metadata as m; print(m.version('${packages[$2]}'))" ;;
  esac
}

for name in "${names[@]}"; do
  if [ -z "${packages[$name]:-}" ]; then
    echo "there is no program $name; choose from ${!packages[*]}" >&2
    exit 2
  fi
  folder=.venv-harness/$name
  if errors=$(install "$folder" "$name" 2>&1); then
    echo "$name: ${packages[$name]} $(version "$folder" "$name")"
    installed+=("$name")
  else
    echo "$name cannot be installed: $(grep -v '^ *$' <<<"$errors" | tail -n 1)"
    missing+=("$name")
  fi
done

status=0
if [ ${#installed[@]} -gt 0 ]; then
  # shellcheck disable=SC2086 - ARGS are words
  GEM_TEST_HARNESS=$PWD/.venv-harness GEM_TEST_PROGRAMS="${installed[*]}" \
    GEM_TEST_EPISODES=${EPISODES:-20} "$bin/python" -m pytest -q -s -p no:xdist --timeout 3000 \
    plugins/gem-serve/tests/harness/test_programs.py ${ARGS:-} || status=1
fi
[ ${#missing[@]} = 0 ] || echo "not installed: ${missing[*]}"
[ $status = 0 ] && [ ${#installed[@]} -gt 0 ] && { [ ${#missing[@]} = 0 ] || [ -z "$required" ]; }
