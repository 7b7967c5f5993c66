#!/usr/bin/env bash
# Plays the crash example with the SDKs as they are, and writes docs/crash.svg.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$(scripts/python-env.sh python-sdk sdk/python/requirements-test.txt)
programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
go build -o "$programs" ./cmd/openintent ./examples/crash/asker ./examples/crash/record
PYTHONPATH=sdk/python/src "$programs/record" -server "$programs/openintent" -asker "$programs/asker" -python "$python" "$@"
