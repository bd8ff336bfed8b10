#!/usr/bin/env bash
# Tests the gateway with the HTTP server of an engine, whose kernels and scheduler are left out,
# in a virtual environment of its own, .venv-adapters/ENGINE. PYTHON is the interpreter, TORCH the
# requirement of torch, and ARGS more arguments for pytest.
#
#   tests/ci/gateway_engine.sh vllm|sglang
set -uo pipefail
cd "$(dirname "$0")/../.."
unset PYTHONDONTWRITEBYTECODE # modules are compiled when they are first imported
engine=${1:?vllm or sglang}
python=${PYTHON:-python3}
torch=${TORCH:-torch}
tests=plugins/gem-serve/tests/gateway
venv=.venv-adapters/$engine
parts=(libs/* plugins/gem-serve plugins/gem-agents plugins/gem-games)

install() {
  local stamp
  stamp=$(cat "$tests/$engine"*.txt "$0" pyproject.toml "${parts[@]/%//pyproject.toml}" | cksum)
  [ "$(cat "$venv/.installed" 2>/dev/null)" = "$stamp" ] && return
  local pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
  "$python" -m venv "$venv" || return
  "${pip[@]}" 'pip>=26' 'hatchling>=1.27' 'editables>=0.5' "$torch" || return
  printf -- '-e\n%s\n' . "${parts[@]}" | xargs "${pip[@]}" --no-deps --no-build-isolation || return
  "${pip[@]}" "$torch" gem-core gem-rollout gem-serve gem-agents gem-games 'pytest>=9' pytest-timeout hypothesis jinja2 \
    -r "$tests/$engine.txt" || return
  "${pip[@]}" --no-deps -r "$tests/$engine.no-deps.txt" || return
  echo "$stamp" >"$venv/.installed"
}

if ! errors=$(install 2>&1); then
  reason=$(grep -E '^ *(ERROR|fatal):' <<<"$errors" | tail -n 1 | sed 's/^ *//')
  echo "$engine cannot be installed: ${reason:-$(tail -n 1 <<<"$errors")}" >&2
  exit 1
fi
# Warnings of engines are not errors. vLLM is told that there is no GPU, to let adapters be loaded,
# and to keep what it logs and counts to itself.
# shellcheck disable=SC2086 - ARGS are words
GEM_TEST_ENGINE=$engine PYTHONPATH=$tests VLLM_TARGET_DEVICE=cpu VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 \
  VLLM_LOGGING_LEVEL=CRITICAL VLLM_NO_USAGE_STATS=1 \
  "$venv/bin/python" -m pytest -q -W ignore -p no:asyncio -p no:anyio \
  -k "$engine" "$tests"/test_gateway_{dialects,engines,scripted,adapters}.py \
  "$tests"/test_gateway_faults.py::test_a_stream_that_the_engine_breaks_off_has_no_false_end \
  "$tests"/test_gateway_faults.py::test_a_context_that_is_too_short_is_told_in_words_that_programs_know \
  plugins/gem-agents/tests/test_vllm_http.py ${ARGS:-}
