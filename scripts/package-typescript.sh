#!/usr/bin/env bash
# Builds the npm package of sdk/typescript into OUTDIR and prints the tarball's path. It holds the compiled code with its
# types, the README and the licence.
#
#   scripts/package-typescript.sh OUTDIR
set -euo pipefail
if (($# != 1)); then
  echo "usage: scripts/package-typescript.sh OUTDIR" >&2
  exit 2
fi
mkdir -p "$1"
outdir=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

scripts/node-env.sh >/dev/null
cd sdk/typescript
npm run --silent build >&2
# npm packs only what lies in the package's folder.
cp ../../LICENSE LICENSE
trap 'rm -f LICENSE' EXIT
name=$(npm pack --silent --ignore-scripts --pack-destination "$outdir" | tail -n 1)
echo "$outdir/$name"
