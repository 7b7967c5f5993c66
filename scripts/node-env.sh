#!/usr/bin/env bash
# Installs sdk/typescript/node_modules from the lock file, if it is missing or outdated, and prints its path.
set -euo pipefail
cd "$(dirname "$0")/../sdk/typescript"

# When several callers run this script simultaneously, one installs and the others wait.
mkdir -p ../../.cache
exec 9>../../.cache/node-env.lock
if command -v flock >/dev/null; then
  flock 9
fi
# A copy of the lock file marks a finished installation: an incomplete or outdated one is repeated.
if ! cmp --silent package-lock.json node_modules/installed-lock.json; then
  ../../scripts/node.sh npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json node_modules/installed-lock.json
fi
echo "$PWD/node_modules"
