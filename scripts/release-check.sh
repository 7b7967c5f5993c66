#!/usr/bin/env bash
# Builds the release of the last commit for one system twice, in two folders with two empty build caches, and fails if the bytes differ.
#
#   scripts/release-check.sh [SYSTEM/PROCESSOR]
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-linux/amd64}
COMMIT=$(git rev-parse HEAD)
DATE=$(git log -1 --format=%cI)
export COMMIT DATE
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
for folder in one another/place; do
  mkdir -p "$work/$folder"
  git archive HEAD | tar --extract --directory "$work/$folder"
  (umask "$([[ $folder == one ]] && echo 0077 || echo 0022)" && cd "$work/$folder" && GOCACHE=$work/cache scripts/release.sh dist "$target")
  rm -rf "$work/cache"
done
diff "$work/one/dist/SHA256SUMS" "$work/another/place/dist/SHA256SUMS"
(cd "$work/one/dist" && sha256sum --check SHA256SUMS)
