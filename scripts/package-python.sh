#!/usr/bin/env bash
# Builds the Python SDK's wheel, with its licence, into a directory, and prints the wheel's path.
#
#   scripts/package-python.sh OUTDIR
set -euo pipefail
if (($# != 1)); then
  echo "usage: scripts/package-python.sh OUTDIR" >&2
  exit 2
fi
mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

python=$(scripts/python-env.sh python-package sdk/python/package-requirements.txt)
# The wheel is built from a copy, which has the licence and no files that tools left behind.
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT
cp -r sdk/python/src sdk/python/pyproject.toml sdk/python/README.md LICENSE "$source"
# The page of a package stands alone: links into the repository would lead nowhere.
sed -i.links -E 's#\[([^]]+)\]\(\.\./[^)]*\)#\1#g' "$source/README.md"
rm "$source/README.md.links"
find "$source" -name __pycache__ -prune -exec rm -r {} +
"$python" -m build --wheel --no-isolation --outdir "$output" "$source" >&2
echo "$output"/openintent_channels-*.whl
