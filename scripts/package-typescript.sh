#!/usr/bin/env bash
# Builds the npm package of sdk/typescript into OUTDIR and prints the tarball's path. The package contains the compiled code
# with its types, the README and the licence.
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

modules=$(scripts/node-env.sh)
node=$PWD/scripts/node.sh
# The package is built from a copy, which has the licence and does not disturb other builds in the package's folder.
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
cp -r sdk/typescript/src sdk/typescript/package.json sdk/typescript/tsconfig.json sdk/typescript/README.md LICENSE "$source"
# The page of a package stands alone: links into the repository would lead nowhere.
sed -i.links -E 's#\[([^]]+)\]\(\.\./[^)]*\)#\1#g' "$source/README.md"
rm "$source/README.md.links"
ln -s "$modules" "$source/node_modules"
cd "$source"
"$node" npm run --silent build >&2
name=$("$node" npm pack --silent --ignore-scripts --pack-destination "$outdir" | tail -n 1)
echo "$outdir/$name"
