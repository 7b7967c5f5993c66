#!/usr/bin/env bash
# Generates sdk/typescript/src/generated from proto/ with the pinned buf and the plugin pinned in sdk/typescript.
#
#   scripts/generate-typescript.sh            replaces the generated files
#   scripts/generate-typescript.sh --check    changes nothing, and fails when the files differ from newly generated ones
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/node-env.sh >/dev/null
generated=sdk/typescript/src/generated
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
scripts/node.sh scripts/buf.sh generate --template sdk/typescript/buf.gen.yaml --output "$fresh"

if [[ ${1:-} == --check ]]; then
  if ! diff --recursive --brief "$generated" "$fresh"; then
    echo "$generated is stale: run 'scripts/generate-typescript.sh' and commit what it changes." >&2
    exit 1
  fi
  exit 0
fi

# The old files are deleted first, so that nothing remains of a removed proto.
rm -rf "$generated"
mkdir -p "$generated"
cp -r "$fresh/." "$generated/"
