#!/usr/bin/env bash
# Builds the golangci-lint pinned in tools/golangci-lint, with no linters but those of .golangci.yaml, and prints the program's path.
#
# The hundred others would take a quarter of the time of a first build. golangci-lint names its linters in one list, so the script
# takes a copy of its module and shortens the list there. A linter that .golangci.yaml enables and the list lacks is an error when
# the linter runs.
set -euo pipefail
cd "$(dirname "$0")/.."

module=github.com/golangci/golangci-lint/v2
pinned=tools/golangci-lint
built=.cache/golangci-lint
list=pkg/lint/lintersdb/builder_linter.go

# Copies of what the sources are made from mark them as finished: incomplete or outdated ones are made again.
inputs=("$pinned/go.mod" "$pinned/go.sum" .golangci.yaml scripts/linter.sh)
if ! cat "${inputs[@]}" | cmp --silent - "$built/inputs"; then
  original=$(go mod download -modfile="$pinned/go.mod" -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
  rm -rf "$built"
  mkdir -p "$built"
  cp -r --no-preserve=mode "$original" "$built/source"
  { cat "$pinned/go.mod" && echo "replace $module => ./$built/source"; } >"$built/go.mod"
  cp "$pinned/go.sum" "$built/go.sum"
  # The first pass learns which linters are always on, the second leaves out the imports and the entries of the others.
  awk -v enabled="$(sed -n '/^  enable:$/,/^  settings:$/s/^    - //p' .golangci.yaml | tr '\n' ' ')" '
    BEGIN { split(enabled, names, " "); for (i in names) kept[names[i]] = 1 }
    /^\t\tlinter\.NewConfig\(/ { name = $0; sub(/.*NewConfig\(/, "", name); sub(/\..*/, "", name) }
    NR == FNR { if (/GroupStandard|WithInternal/) kept[name] = 1; next }
    /^\t\tlinter\./ { left_out = /NewConfig/ && !(name in kept) }
    /^\t}/ { left_out = 0 }
    /\/pkg\/golinters\/[^\/]*"$/ { imported = $0; sub(/"$/, "", imported); sub(/.*\//, "", imported); if (!(imported in kept)) next }
    !left_out { print }
  ' "$original/$list" "$original/$list" >"$built/source/$list"
  cat "${inputs[@]}" >"$built/inputs"
fi

# Unlike `go tool`, `go build` heeds the compiler's flags in GOFLAGS, so what the linter shares with other programs is compiled once.
go build -modfile="$built/go.mod" -o "$built/golangci-lint" "$module/cmd/golangci-lint" >&2
echo "$built/golangci-lint"
