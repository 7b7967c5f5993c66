#!/usr/bin/env bash
# Installs the node_modules of a folder of this repository from its lock file, if they are missing or outdated, and prints their path.
#
#   scripts/node-env.sh [FOLDER]    sdk/typescript unless given
set -euo pipefail
cd "$(dirname "$0")/.."
scripts=$PWD/scripts
cache=$PWD/.cache
folder=${1:-sdk/typescript}
cd "$folder"

# When several callers run this script simultaneously, one installs and the others wait.
mkdir -p "$cache"
exec 9>"$cache/node-env-${folder//\//-}.lock"
if command -v flock >/dev/null; then
  flock 9
fi
# A copy of the lock file marks a finished installation: an incomplete or outdated one is repeated.
if ! cmp --silent package-lock.json node_modules/installed-lock.json; then
  "$scripts/node.sh" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json node_modules/installed-lock.json
fi
echo "$PWD/node_modules"
