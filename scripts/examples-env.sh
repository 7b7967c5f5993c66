#!/usr/bin/env bash
# Installs an SDK for the examples from its package, as its users do, and prints the path of the interpreter (python) or of
# node_modules (typescript). The installations are kept in .cache until the package or a pin changes.
#
#   scripts/examples-env.sh python|typescript
set -euo pipefail
cd "$(dirname "$0")/.."

language=${1:-}
packages=$PWD/.cache/packages/$language
rm -rf "$packages"
case $language in
python)
  wheel=$(scripts/package-python.sh "$packages")
  pinned=$PWD/sdk/python/requirements-test.txt
  # The hashes cause a new installation when the package or a pin changes.
  cat >"$packages/requirements.txt" <<END
# $(git hash-object "$wheel" "$pinned" | xargs)
--constraint $pinned
openintent-channels[workflow] @ file://$wheel
END
  scripts/python-env.sh examples-python "$packages/requirements.txt"
  ;;
typescript)
  tarball=$(scripts/package-typescript.sh "$packages")
  manifest=$PWD/examples/clarification/typescript/package.json
  installed=$PWD/.cache/examples-typescript
  key=$(git hash-object "$tarball" "$manifest" sdk/typescript/package-lock.json)
  if [[ $(cat "$installed/key" 2>/dev/null) != "$key" ]]; then
    rm -rf "$installed"
    mkdir -p "$installed"
    cp "$manifest" "$installed"
    scripts/node.sh npm --prefix "$installed" install --no-save --prefer-offline --ignore-scripts --no-audit --no-fund \
      --loglevel=error "$tarball" >&2
    echo "$key" >"$installed/key"
  fi
  echo "$installed/node_modules"
  ;;
*)
  echo "usage: scripts/examples-env.sh python|typescript" >&2
  exit 2
  ;;
esac
