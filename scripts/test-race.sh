#!/usr/bin/env bash
# Runs go test with the race detector (scripts/race-flags.sh) and the given arguments.
#
#   scripts/test-race.sh [ARGUMENT...]
set -euo pipefail

# A process with the detector would wait for a second when it ends, in case that something still runs. Nothing does after a test.
export GORACE="atexit_sleep_ms=50${GORACE:+ $GORACE}"
race=()
while IFS= read -r flag; do
  race+=("$flag")
done < <("$(dirname "$0")/race-flags.sh")
exec go test "${race[@]}" "$@"
