#!/usr/bin/env bash
# Runs all Go tests as `make test` does, once the linter has vetted the code. Several packages at a time keep two cores busy, because
# tests also wait. More than four of them wait for each other: the tests then take longer together.
set -euo pipefail
cd "$(dirname "$0")/.."

# These packages only start and attack processes. The race detector would see nothing of the server there, but it sees the server in
# the other packages, where the server runs within the tests.
unwatched='/e2e/(agentdata|backups|documents|examples|operator|python|siege|soak|torture)$'
packages=$(go list ./...)
watched=$(grep --invert-match --extended-regexp "$unwatched" <<<"$packages")
others=$(grep --extended-regexp "$unwatched" <<<"$packages")

# The longest begin first, so that none of them is alone at the end.
longest=$(printf 'openintent/%s\n' e2e/strangers e2e/sdks messaging e2e/testkit internal/database e2e subscriptions e2e/reach cmd/openintent server)
watched=$(echo "$longest"; grep --invert-match --line-regexp --fixed-strings "$longest" <<<"$watched")

# What tests build themselves needs the same packages as the program that they run.
GOFLAGS="$(go env GOFLAGS) $(scripts/slim-flags.sh)"
export GOFLAGS

# Both run at the same time, because those that attack processes mostly wait for them. The others' output comes at the end. The
# compiler and the watched tests collect their garbage less often, which saves a tenth of their time. The others measure how much
# memory a server needs, so they start it as everyone does.
output=$(mktemp)
trap 'rm -f "$output"' EXIT
# shellcheck disable=SC2086 # each word is a package
go test -vet=off -p 1 -timeout 20m $others >"$output" 2>&1 &
failed=0
# shellcheck disable=SC2086
GOGC=400 scripts/test-race.sh -vet=off -p 3 -timeout 20m $watched || failed=1
wait $! || failed=1
cat "$output"
exit "$failed"
