#!/usr/bin/env bash
# Tests the gateway with SGLang's own HTTP server, whose kernels and scheduler are left out, in a
# virtual environment of its own, .venv-adapters/sglang. PYTHON is the interpreter, TORCH the
# requirement of torch, and ARGS more arguments for pytest.
set -uo pipefail
cd "$(dirname "$0")/../.."
unset PYTHONDONTWRITEBYTECODE # modules are compiled when they are first imported
python=${PYTHON:-python3}
torch=${TORCH:-torch}
tests=plugins/gem-serve/tests/gateway
venv=.venv-adapters/sglang

install() {
  local stamp
  stamp=$(cat "$tests"/sglang*.txt "$0" pyproject.toml libs/*/pyproject.toml plugins/gem-serve/pyproject.toml | cksum)
  [ "$(cat "$venv/.installed" 2>/dev/null)" = "$stamp" ] && return
  local pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
  "$python" -m venv "$venv" || return
  "${pip[@]}" 'hatchling>=1.27' 'editables>=0.5' "$torch" || return
  printf -- '-e\n%s\n' . libs/* plugins/gem-serve | xargs "${pip[@]}" --no-deps --no-build-isolation || return
  "${pip[@]}" "$torch" gem-core gem-rollout gem-serve pytest pytest-timeout hypothesis jinja2 \
    -r "$tests/sglang.txt" || return
  "${pip[@]}" --no-deps -r "$tests/sglang.no-deps.txt" || return
  echo "$stamp" >"$venv/.installed"
}

if ! errors=$(install 2>&1); then
  reason=$(grep -E '^ *(ERROR|fatal):' <<<"$errors" | tail -n 1 | sed 's/^ *//')
  echo "SGLang cannot be installed: ${reason:-$(tail -n 1 <<<"$errors")}" >&2
  exit 1
fi
# Warnings of SGLang are not errors.
# shellcheck disable=SC2086 - ARGS are words
GEM_TEST_SGLANG=1 PYTHONPATH=$tests "$venv/bin/python" -m pytest -q -W ignore -p no:asyncio -p no:anyio \
  -k sglang "$tests"/test_gateway_{engines,sglang}.py ${ARGS:-}
