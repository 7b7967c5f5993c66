#!/usr/bin/env bash
# Connects real harnesses, in the versions pinned in e2e/harnesses, to a server that this script builds (e2e/harnesses says how). If
# necessary it first installs the harnesses into .cache/harnesses. They run in a network namespace that has the loopback interface
# alone, so nothing leaves this machine.
#
#   scripts/harnesses.sh [ARGUMENT OF go test...]
set -euo pipefail
cd "$(dirname "$0")/.."

unshare --map-root-user --net true || { echo "This needs Linux, and the right to make a network namespace." >&2; exit 1; }

# Qwen Code needs this version of Node.js or a newer one.
node=(scripts/node.sh --oldest 22)

installed=.cache/harnesses
# A copy of the lock file marks a finished installation: an incomplete or outdated one is repeated. Not `npm ci`: it refuses a lock file
# without the packages for other systems, of which the registry does not have all.
if ! cmp --silent e2e/harnesses/package-lock.json "$installed/finished-lock.json"; then
  rm -rf "$installed"
  mkdir -p "$installed"
  cp e2e/harnesses/package*.json "$installed"
  "${node[@]}" npm --prefix "$installed" install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  # The package of OpenCode has its program only after its own script.
  "${node[@]}" npm --prefix "$installed" rebuild --foreground-scripts --loglevel=error opencode-ai >&2
  cp e2e/harnesses/package-lock.json "$installed/finished-lock.json"
fi

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
go build -o "$built/openintent" ./cmd/openintent
go test -c -tags harnesses -o "$built/harnesses.test" ./e2e/harnesses
arguments=()
for argument; do arguments+=("${argument/#-/-test.}"); done

export OPENINTENT_TEST_PROGRAM=$built/openintent
cd e2e/harnesses
"../../${node[0]}" "${node[@]:1}" unshare --map-root-user --net \
  sh -c 'ip link set lo up && exec "$@"' sh "$built/harnesses.test" -test.v -test.timeout 0 "${arguments[@]}"
