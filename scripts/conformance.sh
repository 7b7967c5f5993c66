#!/usr/bin/env bash
# Runs the conformance suite of the Model Context Protocol, in the version pinned in tools/conformance, against a server that this
# script builds with what the suite asks for. If necessary it first installs the suite into .cache/conformance.
#
#   scripts/conformance.sh [-scenario NAME]
set -euo pipefail
cd "$(dirname "$0")/.."

# The suite needs this version of Node.js or a newer one.
node=(scripts/node.sh --oldest 22)

installed=.cache/conformance
# A copy of the lock file marks a finished installation: an incomplete or outdated one is repeated.
if ! cmp --silent tools/conformance/package-lock.json "$installed/package-lock.json"; then
  rm -rf "$installed"
  mkdir -p "$installed"
  cp tools/conformance/package*.json "$installed"
  "${node[@]}" npm --prefix "$installed" ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2 ||
    { rm "$installed/package-lock.json"; exit 1; }
fi
go build -tags conformance -o "$installed/run" ./e2e/conformance
exec "${node[@]}" "$installed/run" -suite "$installed/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"
