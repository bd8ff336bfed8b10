#!/bin/bash
# One program under several names: apt, apt-get, apk, curl, pip, pip3, uv, uvx, wget.
# What is to be installed and is there ends with success; the machine's own program does the rest.
name=${0##*/}
own=${0%/*}
rest=
IFS=: read -r -a parts <<<"$PATH"
for part in "${parts[@]}"; do
  [ "$part" = "$own" ] || rest=$rest${rest:+:}$part
done

has_network() { grep -qvE '^ *(lo:|Inter|face)' /proc/net/dev 2>/dev/null; }

# Tries what fails without a network, so that a build hears of what failed before it tried.
miss_network() { : >/dev/udp/192.0.2.1/9; } 2>/dev/null

# The machine's own program, in whose children these programs are found again.
really() {
  local found
  found=$(PATH=$rest type -P "$name") && exec "$found" "$@"
  echo "$name: command not found" >&2
  miss_network
  exit 127
}

missing=()
lacks() { missing+=("$1"); }

has_package() {
  case $1 in *=*) [ "$(dpkg-query -W -f '${Version}' "${1%%=*}" 2>/dev/null)" = "${1#*=}" ] && return ;; esac
  case $1 in [!A-Za-z0-9]* | *[!A-Za-z0-9.+:-]*) return 1 ;; esac
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ||
    [ -e "/usr/share/doc/$1" ] || PATH=$rest type -P "$1" >/dev/null
}

# Requirements of pip, one an argument: name, extras, specifiers.
has_requirements() {
  PATH=$rest python3 - "$@" <<'PYTHON' 2>/dev/null
import sys

sys.path = [folder for folder in sys.path if folder]  # not the current one: it may be the agent's
import importlib.metadata as metadata

try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement
for text in sys.argv[1:]:
    requirement = Requirement(text)
    version = metadata.version(requirement.name)
    if requirement.url or not requirement.specifier.contains(version, prereleases=True):
        sys.exit(1)
    provided = metadata.metadata(requirement.name).get_all("Provides-Extra") or []
    for extra in requirement.extras:
        if extra not in provided:
            sys.exit(1)
        for line in metadata.requires(requirement.name) or []:
            further = Requirement(line)
            if further.marker and not further.marker.evaluate({"extra": ""}):
                if further.marker.evaluate({"extra": extra}):
                    metadata.version(further.name)
PYTHON
}

# Sets `wanted` to the packages of pip's or uv's arguments; fails if it cannot tell them.
wanted=()
read_requirements() {
  wanted=()
  while [ $# -gt 0 ]; do
    case $1 in
      -i | --index-url | --extra-index-url | --trusted-host | --timeout | --retries | --root-user-action | -p | --python | --index) shift ;;
      --index-url=* | --extra-index-url=* | --trusted-host=* | --timeout=* | --retries=* | --root-user-action=* | --python=* | --index=*) ;;
      -U | --upgrade) has_network && return 1 ;;
      -q | -qq | -v | --quiet | --user | --no-cache-dir | --no-cache | --no-input | --break-system-packages | --disable-pip-version-check | --prefer-binary | --system | --no-deps | --no-warn-script-location | --dev | --no-sync | --frozen) ;;
      -*) return 1 ;;
      . | ./* | /* | *://* | *.whl | *.tar.gz | *.txt) return 1 ;;
      *) wanted+=("$1") ;;
    esac
    shift
  done
  [ ${#wanted[@]} -gt 0 ]
}

ask_apt() {
  local action= one named=
  for one in "$@"; do
    case $one in
      --reinstall | --download-only | --print-uris) lacks "$one" ;;
      -*) ;;
      *)
        if [ -z "$action" ]; then action=$one; else named=1; has_package "$one" || lacks "$one"; fi
        ;;
    esac
  done
  case $action in
    install | add)
      [ -n "$named" ] && [ ${#missing[@]} = 0 ] && exit 0
      if ! has_network; then
        miss_network
      elif [ "$action" = install ] && ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then
        PATH=$rest apt-get update -qq || exit
      fi
      ;;
    update | clean | autoclean) has_network || exit 0 ;;
    upgrade | dist-upgrade | autoremove) has_network || exit 0 ;;
  esac
  really "$@"
}

ask_pip() {
  if [ "$1" = install ] && read_requirements "${@:2}" && has_requirements "${wanted[@]}"; then exit 0; fi
  really "$@"
}

# Sets `command` to what uv run or uvx is to run; fails if a package it needs is not there.
command=()
read_command() {
  while [ $# -gt 0 ]; do
    case $1 in
      -w | --with) has_requirements "$2" || { lacks "$2"; return 1; }; shift ;;
      --with=*) has_requirements "${1#*=}" || { lacks "${1#*=}"; return 1; } ;;
      --from) has_requirements "$2" || { lacks "$2"; return 1; }; shift ;;
      --from=*) has_requirements "${1#*=}" || { lacks "${1#*=}"; return 1; } ;;
      -p | --python | --project | --directory | --env-file | --group | --extra) shift ;;
      --) shift; break ;;
      -*) ;;
      *) break ;;
    esac
    shift
  done
  [ $# -gt 0 ] || return 1
  case $1 in
    *@latest) ;;
    *[@=]*) has_requirements "${1/@/==}" || { lacks "$1"; return 1; } ;;
  esac
  command=("${1%%[@=]*}" "${@:2}")
  PATH=$rest type -P "${command[0]}" >/dev/null || { lacks "${command[0]}"; return 1; }
}

ask_uv() {
  if has_network && PATH=$rest type -P "$name" >/dev/null; then really "$@"; fi
  case $name-$1 in
    uv-init | uv-lock | uv-self | uv-cache) exit 0 ;;
    uv-venv)
      local one place=.venv
      for one in "${@:2}"; do case $one in -* | [0-9]*) ;; *) place=$one ;; esac; done
      PATH=$rest exec python3 -m venv --without-pip --system-site-packages "$place"
      ;;
    uv-add)
      read_requirements "${@:2}" && has_requirements "${wanted[@]}" && exit 0
      ;;
    uv-pip)
      [ "$2" = install ] && read_requirements "${@:3}" && has_requirements "${wanted[@]}" && exit 0
      ;;
    uv-tool) ;;
    uv-run) read_command "${@:2}" && PATH=$own:$rest exec "${command[@]}" ;;
    uvx-*) read_command "$@" && PATH=$own:$rest exec "${command[@]}" ;;
  esac
  PATH=$rest type -P "$name" >/dev/null && really "$@"
  miss_network
  echo "$name: there is no network, and this is not installed: ${missing[*]:-${wanted[*]:-$*}}" >&2
  exit 1
}

# The installer of uv, whose part is played by the program above.
download() {
  local one is_saved=
  [ "$name" = curl ] || is_saved=1
  for one in "$@"; do
    case $one in
      --output-document=- | -O- | -[a-z]*O-) is_saved= ;;
      --output* | --remote-name* | -[oO]* | -[A-Za-z]*[oO]) is_saved=1 ;;
    esac
  done
  [ -n "$is_saved" ] && really "$@"
  for one in "$@"; do
    case $one in
      https://astral.sh/uv/*install.sh)
        has_network && break
        printf 'mkdir -p "$HOME/.local/bin"\n: >"$HOME/.local/bin/env"\n'
        exit 0
        ;;
    esac
  done
  really "$@"
}

case $name in
  apt | apt-get | apk) ask_apt "$@" ;;
  pip | pip3) ask_pip "$@" ;;
  uv | uvx) ask_uv "$@" ;;
  curl | wget) download "$@" ;;
esac
