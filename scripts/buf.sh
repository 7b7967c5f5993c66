#!/usr/bin/env bash
# Runs buf, in the version pinned in tools/buf, with the given arguments. If necessary the script first installs the binary
# that buf's makers publish into .cache/buf; building it from source needs modules that not every mirror keeps. On Debian
# it also installs npm when npm is missing and the caller is root.
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)

installed=$project/.cache/buf
# A copy of the lock file marks a finished installation: an incomplete or outdated one is repeated.
if ! cmp --silent "$project/tools/buf/package-lock.json" "$installed/package-lock.json"; then
  if ! command -v npm >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
    echo "npm is missing; installing it." >&2
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends npm >&2
  fi
  if ! command -v npm >/dev/null; then
    echo "npm is needed to install buf: install it ('apt-get install npm' on Debian)." >&2
    exit 1
  fi
  rm -rf "$installed"
  mkdir -p "$installed"
  cp "$project"/tools/buf/package*.json "$installed"
  (cd "$installed" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) ||
    { rm "$installed/package-lock.json"; exit 1; }
fi
exec "$installed/node_modules/.bin/buf" "$@"
