#!/usr/bin/env bash
# Tests the gateway with the SDKs that agent programs are built on, in a virtual environment of their
# own, .venv-adapters/gateway. PYTHON is the interpreter, and ARGS more arguments for pytest.
set -uo pipefail
cd "$(dirname "$0")/../.."
unset PYTHONDONTWRITEBYTECODE # modules are compiled when they are first imported
python=${PYTHON:-python3}
requirements=plugins/gem-serve/tests/gateway/sdks.txt
venv=.venv-adapters/gateway

install() {
  local stamp
  stamp=$(cat "$requirements" "$0" pyproject.toml libs/*/pyproject.toml plugins/gem-serve/pyproject.toml | cksum)
  [ "$(cat "$venv/.installed" 2>/dev/null)" = "$stamp" ] && return
  local pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
  "$python" -m venv "$venv" || return
  "${pip[@]}" 'pip>=26' 'hatchling>=1.27' 'editables>=0.5' || return
  printf -- '-e\n%s\n' . libs/* plugins/gem-serve | xargs "${pip[@]}" --no-deps --no-build-isolation || return
  "${pip[@]}" gem-core gem-rollout gem-serve 'pytest>=9' pytest-timeout hypothesis jinja2 'transformers>=4.45' \
    -r "$requirements" || return
  echo "$stamp" >"$venv/.installed"
}

if ! errors=$(install 2>&1); then
  reason=$(grep -E '^ *(ERROR|fatal):' <<<"$errors" | tail -n 1 | sed 's/^ *//')
  echo "the SDKs cannot be installed: ${reason:-$(tail -n 1 <<<"$errors")}" >&2
  exit 1
fi
# Warnings of SDKs are not errors.
# shellcheck disable=SC2086 - ARGS are words
GEM_TEST_SDK_EPISODES=17 "$venv/bin/python" -m pytest -q -W ignore -p no:asyncio -p no:anyio \
  plugins/gem-serve/tests/gateway/test_gateway_sdks.py ${ARGS:-}
