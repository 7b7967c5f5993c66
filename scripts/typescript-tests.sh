#!/usr/bin/env bash
# Compiles the TypeScript SDK into sdk/typescript/dist, and its tests and the README's programs into sdk/typescript/build. The
# script does nothing if they are compiled already. Run it under scripts/node.sh where Node.js may be too old.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/node-env.sh >/dev/null
cd sdk/typescript

key=$(find src test README.md package.json package-lock.json tsconfig*.json -type f -exec sha256sum {} + | sort | sha256sum)
# The key is written last, so it marks a finished build.
if [[ ! -d dist || $(cat build/key 2>/dev/null) != "$key" ]]; then
  npm run --silent build:test >&2
  echo "$key" >build/key
fi
