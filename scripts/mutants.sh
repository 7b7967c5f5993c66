#!/usr/bin/env bash
# Mutates the packages of pure rules, or those that are named, with the gremlins pinned in tools/gremlins, and fails if a mutant lives that
# tools/mutants/equal.yaml does not explain. It needs one processor, and for all packages more than half an hour.
set -euo pipefail
cd "$(dirname "$0")/.."

directory=.cache/mutants
mkdir -p "$directory"
go build -modfile=tools/gremlins/go.mod -o "$directory/gremlins" github.com/go-gremlins/gremlins/cmd/gremlins
go build -C tools -o "../$directory/mutants" ./mutants
exec "$directory/mutants" -gremlins "$directory/gremlins" "$@"
