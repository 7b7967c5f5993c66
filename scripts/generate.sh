#!/usr/bin/env bash
# Generates gen/ from proto/ with the pinned buf and the plugins pinned in tools/go.mod, the generated code of the SDKs in other languages, and
# the console's pages.
#
#   scripts/generate.sh            replaces the generated files
#   scripts/generate.sh --check    changes nothing, and fails when a file differs from a newly generated one
#
# It notes what it has generated, and from what, for scripts/generated-sums.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/generate-python.sh "$@"
scripts/generate-typescript.sh "$@"
scripts/generate-console.sh "$@"

# The server's tests write and check gen/openapi, because only the server knows all that the document says.
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
scripts/buf.sh generate --output "$fresh"

if [[ ${1:-} == --check ]]; then
  if ! diff --recursive --brief --exclude=openapi --exclude=SHA256SUMS gen "$fresh/gen"; then
    echo "gen/ is stale: run 'make generate' and commit what it changes." >&2
    exit 1
  fi
  exit 0
fi

# The old files are deleted first, so that nothing remains of a removed proto.
mkdir -p gen
find gen -type f ! -path 'gen/openapi/*' -delete
cp -r "$fresh/gen/." gen/
find gen -type d -empty -delete
scripts/generated-sums.sh --write
