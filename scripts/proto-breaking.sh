#!/usr/bin/env bash
# Fails when the protos break clients of the last release: the newest image in proto/released, by its version.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
last=$(printf '%s\n' proto/released/*.binpb | sort --version-sort | tail -n 1)
if [[ -z $last ]]; then
  echo "Nothing is released yet, so the protos cannot break any client."
  exit 0
fi
scripts/buf.sh breaking proto --against "$last"
echo "The protos are compatible with $(basename "$last" .binpb)."
