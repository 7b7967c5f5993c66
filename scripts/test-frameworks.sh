#!/usr/bin/env bash
# Tests the SDKs' adapters for agent frameworks with the frameworks' real packages, which it installs if they are missing, on both
# engines (e2e/frameworks and sdk/typescript/frameworks say how).
#
#   scripts/test-frameworks.sh [ARGUMENT OF go test...]       for one framework of Python: -run TestFrameworks/python/langchain
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/with-postgres.sh go test -tags frameworks -count 1 -timeout 0 -v ./e2e/frameworks "$@"
if [ $# -eq 0 ]; then
  for run in sdk/typescript/frameworks/*/run; do
    scripts/with-postgres.sh scripts/node.sh "$run"
  done
fi
