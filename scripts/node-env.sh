#!/usr/bin/env bash
# Makes sdk/typescript/node_modules from the lock file, if it is missing or outdated, and prints its path. It needs Node.js
# 20 or newer with npm. On Debian, both are installed when they are missing and the caller is root.
set -euo pipefail
cd "$(dirname "$0")/../sdk/typescript"

oldest_supported=20
if { ! command -v node || ! command -v npm; } >/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
  echo "Node.js is missing; installing it." >&2
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >&2
fi
if { ! command -v node || ! command -v npm; } >/dev/null; then
  echo "Node.js $oldest_supported or newer with npm is needed: install it from https://nodejs.org or with your system's" \
    "package manager." >&2
  exit 1
fi
version=$(node --version)
major=${version#v}
major=${major%%.*}
if ((major < oldest_supported)); then
  echo "Node.js $oldest_supported or newer is needed, and this is $version ($(command -v node)). Debian 12's own package" \
    "is older: install one from https://nodejs.org." >&2
  exit 1
fi

# A copy of the lock file marks a finished installation: a half-made or outdated one is made anew.
if ! cmp --silent package-lock.json node_modules/installed-lock.json; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json node_modules/installed-lock.json
fi
echo "$PWD/node_modules"
