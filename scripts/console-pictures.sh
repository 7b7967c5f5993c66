#!/usr/bin/env bash
# Takes the pictures of docs/console.md while the test of all pages runs.
set -euo pipefail
cd "$(dirname "$0")/.."

taken=$(mktemp -d)
trap 'rm -rf "$taken"' EXIT
OPENINTENT_SCREENSHOTS=$taken OPENINTENT_TEST_ONLY_SQLITE=1 go test -tags console -count 1 -run TestEveryPage ./e2e/console/browser
mkdir -p docs/console
for name in needs intent channel request agent search server; do
  cp "$taken/$name-light-1440.png" "docs/console/$name.png"
done
cp "$taken/needs-dark-320.png" docs/console/needs-dark-narrow.png
