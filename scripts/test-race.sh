#!/usr/bin/env bash
# Runs go test with the race detector (scripts/race-flags.sh) and the given arguments.
#
#   scripts/test-race.sh [ARGUMENT...]
set -euo pipefail

race=()
while IFS= read -r flag; do
  race+=("$flag")
done < <("$(dirname "$0")/race-flags.sh")
exec go test "${race[@]}" "$@"
