#!/usr/bin/env bash
# Writes the image of the protos as they are now, as the protos of release VERSION (such as 0.1.0), to
# proto/released/VERSION.binpb. scripts/proto-breaking.sh compares with the newest of these images.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:-}
if [[ ! $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
  echo "Name the release, such as: make proto-image VERSION=0.1.0" >&2
  exit 2
fi
if git rev-parse --quiet --verify "refs/tags/v$version" >/dev/null; then
  echo "Version $version is released, so its image stays as it is." >&2
  exit 1
fi
image=proto/released/$version.binpb
mkdir -p proto/released
scripts/buf.sh build proto --exclude-source-info --output "$image"
echo "$image has the protos of $version; commit it."
