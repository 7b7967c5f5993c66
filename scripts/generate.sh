#!/usr/bin/env bash
# Generates gen/ from proto/ with the pinned buf and the plugins pinned in tools/go.mod, and what the SDKs in other languages
# have of the protos.
#
#   scripts/generate.sh            replaces the generated files
#   scripts/generate.sh --check    changes nothing and fails when one of them is not what would be generated
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/generate-python.sh "$@"
scripts/generate-typescript.sh "$@"

# gen/openapi/openapi.go embeds the generated document; it is the only file in gen/ written by hand.
handwritten=openapi.go

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
scripts/buf.sh generate --output "$fresh"

if [[ ${1:-} == --check ]]; then
  if ! diff --recursive --brief --exclude="$handwritten" gen "$fresh/gen"; then
    echo "gen/ is stale: run 'make generate' and commit what it changes." >&2
    exit 1
  fi
  exit 0
fi

# Everything old goes first, so that nothing stays behind of a proto that was removed.
mkdir -p gen
find gen -type f ! -name "$handwritten" -delete
cp -r "$fresh/gen/." gen/
find gen -type d -empty -delete
