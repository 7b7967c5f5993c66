#!/usr/bin/env bash
# Vets and lints all Go code with the golangci-lint pinned in tools/golangci-lint.
#
#   scripts/lint.sh           reads packages as `go build` compiles them
#   scripts/lint.sh --race    reads packages as tests with the race detector need them, so that these are compiled only once
set -euo pipefail
cd "$(dirname "$0")/.."
# Collecting garbage less often saves the compiler a tenth of its time.
export GOGC=${GOGC:-400}

# So does leaving out what only debuggers need.
slim='-ldflags=-w -gcflags=all=-dwarf=false'

linter=$(GOFLAGS="$(go env GOFLAGS) $slim" go tool -n -modfile=tools/golangci-lint/go.mod golangci-lint)
if [[ ${1:-} == --race ]]; then
  GOFLAGS="$(go env GOFLAGS) $(scripts/race-flags.sh)"
  export GOFLAGS
fi
exec "$linter" run ./...
