#!/usr/bin/env bash
# Tells whether the generated code is still what the generators made of what is in the repository, without running them.
#
#   scripts/generated-sums.sh --write    notes the digests of the generated files and of what they are made from in gen/SHA256SUMS
#   scripts/generated-sums.sh --check    fails when a file differs from what is noted, is missing or is new
set -euo pipefail
cd "$(dirname "$0")/.."

sums() {
  find buf.yaml buf.gen.yaml proto/openintent third_party tools/go.mod tools/go.sum tools/buf tools/protoc-gen-comments \
    scripts/buf.sh scripts/generate*.sh sdk/*/buf.gen.yaml sdk/python/generate-requirements.txt sdk/typescript/package-lock.json \
    console/index.html console/package.json console/package-lock.json console/tsconfig.json console/vite.config.ts console/public console/src \
    console/dist gen sdk/python/src/openintent_channels/_generated sdk/typescript/src/generated \
    -type f ! -path gen/SHA256SUMS ! -path 'gen/openapi/*' ! -path '*/__pycache__/*' ! -path '*/node_modules/*' -print0 |
    LC_ALL=C sort --zero-terminated | xargs --null sha256sum
}

if [[ ${1:-} == --write ]]; then
  sums >gen/SHA256SUMS
elif ! diff gen/SHA256SUMS <(sums); then
  echo "The generated code is stale, or somebody changed it by hand: run 'make generate' and commit what it changes." >&2
  exit 1
fi
