#!/usr/bin/env bash
# Vets and lints all Go code with the golangci-lint pinned in tools/golangci-lint.
#
#   scripts/lint.sh           reads packages as `go build` compiles them
#   scripts/lint.sh --race    reads packages as tests with the race detector need them, so that these are compiled only once
set -euo pipefail
cd "$(dirname "$0")/.."
# Collecting garbage less often saves the compiler a tenth of its time.
export GOGC=${GOGC:-400}

# `go tool` would ignore the flags.
linter=.cache/linter/golangci-lint
read -ra slim <<<"$(scripts/slim-flags.sh)"
go build "${slim[@]}" -modfile=tools/golangci-lint/go.mod -o "$linter" github.com/golangci/golangci-lint/v2/cmd/golangci-lint
if [[ ${1:-} == --race ]]; then
  GOFLAGS="$(go env GOFLAGS) $(scripts/race-flags.sh | sed "s/.*/'&'/" | tr '\n' ' ')"
  export GOFLAGS
fi
exec "$linter" run ./...
