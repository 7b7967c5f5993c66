#!/usr/bin/env bash
# Generates the Python SDK's protobuf modules from proto/ with the pinned buf and the protoc pinned in
# sdk/python/generate-requirements.txt, and the modules of its blocking client from those of the asynchronous one.
#
#   scripts/generate-python.sh            replaces sdk/python/src/openintent_channels/_generated and the blocking client
#   scripts/generate-python.sh --check    changes nothing, and fails when the files differ from newly generated ones
set -euo pipefail
cd "$(dirname "$0")/.."

sdk/python/generate_blocking.py "$@"

generated=sdk/python/src/openintent_channels/_generated
# This file marks the package; it is the only handwritten one there.
handwritten=__init__.py

scripts/python-env.sh python-generate sdk/python/generate-requirements.txt >/dev/null
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
scripts/buf.sh generate --template sdk/python/buf.gen.yaml --output "$fresh"

# protoc names modules after the protos' directories. Here they are inside the package, where their names are unique.
modules=$fresh/openintent/v1
sed -i \
  -e 's/^from openintent\.v1 import /from openintent_channels._generated import /' \
  -e "s/'openintent\.v1\.\([a-z_]*_pb2\)'/'openintent_channels._generated.\1'/" \
  "$modules"/*

if [[ ${1:-} == --check ]]; then
  if ! diff --recursive --brief --exclude="$handwritten" --exclude=__pycache__ "$generated" "$modules"; then
    echo "$generated is stale: run 'make generate' and commit what it changes." >&2
    exit 1
  fi
  exit 0
fi

# The old files are deleted first, so that nothing remains of a removed proto.
mkdir -p "$generated"
find "$generated" -type f ! -name "$handwritten" -delete
cp "$modules"/* "$generated/"
