#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, each for FUZZTIME (20s unless set).
set -euo pipefail
cd "$(dirname "$0")/.."

targets=$(grep --recursive --exclude-dir=.cache --include='*_test.go' --only-matching --extended-regexp '^func Fuzz[A-Za-z0-9_]+' . || true)
if [[ -z $targets ]]; then
  echo "There is no fuzz target."
  exit 0
fi
while IFS=: read -r file function; do
  package=$(dirname "$file")
  target=${function#func }
  echo "== $package $target"
  go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" </dev/null
done <<<"$targets"
