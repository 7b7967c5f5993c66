#!/usr/bin/env bash
# Fails when the protos break clients of the last released version (the highest tag vX.Y.Z).
set -euo pipefail
cd "$(dirname "$0")/.."

last=$(git tag --list 'v[0-9]*' --sort=-version:refname | grep --extended-regexp '^v[0-9]+\.[0-9]+\.[0-9]+$' | head -n 1 || true)
if [[ -z $last ]]; then
  echo "Nothing is released yet, so the protos cannot break any client."
  exit 0
fi
scripts/buf.sh breaking --against ".git#tag=$last"
echo "The protos are compatible with $last."
