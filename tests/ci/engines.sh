#!/usr/bin/env bash
# Installs and starts what the sandboxes and the viewer stand on, so that CI tests them for real.
#
#   tests/ci/engines.sh start FOLDER   Debian packages, a Docker engine of its own in FOLDER, an image
#   tests/ci/engines.sh stop FOLDER    ends the engine and removes FOLDER
#
# The engine listens at FOLDER/docker.sock. It has no bridge and touches no firewall: the sandbox's
# containers have no network. The image is made from .venv's interpreter, so no registry is asked.
set -euo pipefail
cd "$(dirname "$0")/../.."
action=${1:?start or stop}
folder=${2:?a folder for the engine}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
as_root=$([ "$(id -u)" = 0 ] || echo sudo)

install_packages() {
  local wanted=()
  command -v bwrap >/dev/null || wanted+=(bubblewrap)
  command -v dockerd >/dev/null || wanted+=(docker.io iptables)
  command -v chromium-headless-shell >/dev/null || wanted+=(chromium-headless-shell) # gem-core view, mcp:Browser-Sample
  compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || wanted+=(postgresql) # mcp:Postgres-Sample
  [ ${#wanted[@]} = 0 ] && return
  export DEBIAN_FRONTEND=noninteractive
  $as_root apt-get update -q
  $as_root apt-get install -q -y --no-install-recommends "${wanted[@]}"
}

start_engine() {
  $as_root dockerd --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$folder/pid" \
    -H "unix://$folder/docker.sock" --bridge=none --iptables=false --ip6tables=false \
    >"$folder/log" 2>&1 &
  for _ in $(seq 120); do
    if [ -S "$folder/docker.sock" ]; then
      $as_root chmod 666 "$folder/docker.sock"
      return
    fi
    sleep 0.5
  done
  cat "$folder/log" >&2
  return 1
}

stop_engine() {
  local pid
  pid=$(cat "$folder/pid" 2>/dev/null || true)
  if [ -n "$pid" ]; then
    $as_root kill "$pid" || true
    for _ in $(seq 120); do
      [ -d "/proc/$pid" ] || break
      sleep 0.5
    done
  fi
  grep -o " $folder/[^ ]*" /proc/self/mounts | sort -r | xargs -r -n 1 $as_root umount -l || true
  $as_root rm -rf "$folder"
}

case $action in
  start)
    install_packages
    start_engine
    DOCKER_HOST="unix://$folder/docker.sock" .venv/bin/gem-core doctor --make-image
    ;;
  stop) stop_engine ;;
  *) echo "start or stop; got $action" >&2; exit 2 ;;
esac
