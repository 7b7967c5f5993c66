#!/usr/bin/env bash
# Builds console/dist, the pages of the web console, from the sources in console with the tools pinned there.
#
#   scripts/generate-console.sh            replaces the built files
#   scripts/generate-console.sh --check    changes nothing, and fails when the files differ from newly built ones
#   scripts/generate-console.sh --into FOLDER    builds the files in FOLDER and changes nothing else
set -euo pipefail
cd "$(dirname "$0")/.."

build() {
  scripts/node-env.sh console >/dev/null
  scripts/node.sh npm --prefix console run --silent build -- --outDir "$1" --emptyOutDir --logLevel error
}

if [[ ${1:-} == --into ]]; then
  build "$2"
  exit 0
fi

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
build "$fresh"

if [[ ${1:-} == --check ]]; then
  if ! diff --recursive --brief console/dist "$fresh"; then
    echo "console/dist is stale: run 'scripts/generate-console.sh' and commit what it changes." >&2
    exit 1
  fi
  exit 0
fi

# The old files are deleted first, because their names change with their contents.
rm -rf console/dist
mkdir -p console/dist
cp -r "$fresh/." console/dist/
