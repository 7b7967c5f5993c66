#!/usr/bin/env bash
# Packs the Go SDK as a module of its own into OUTDIR and prints the archive's path. It holds the SDK, what is generated from
# the contract but the server's half, and the versions of what they stand on, those of this repository's go.mod.
# sdk/go/README.md says how it is used.
#
#   scripts/package-go.sh OUTDIR
set -euo pipefail
if (($# != 1)); then
  echo "usage: scripts/package-go.sh OUTDIR" >&2
  exit 2
fi
mkdir -p "$1"
outdir=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

# All SDKs have one version.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' sdk/python/pyproject.toml)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

mkdir -p "$stage/sdk/go" "$stage/gen/openintent/v1"
cp LICENSE "$stage"
cp sdk/README.md "$stage/sdk"
cp sdk/go/README.md sdk/go/*.go "$stage/sdk/go"
cp gen/openintent/v1/*.go "$stage/gen/openintent/v1"
# The gateway is the server's, and the tests need what users do not.
rm "$stage"/gen/openintent/v1/*.pb.gw.go "$stage"/sdk/go/*_test.go

# Of the repository's requirements those of these packages stay, with their versions.
cp go.mod go.sum "$stage"
cd "$stage"
go mod tidy
go build ./...

# git, since not everybody has zip; with fixed times, so that the same content is the same archive.
export GIT_AUTHOR_DATE='2020-01-01 00:00:00 +0000' GIT_COMMITTER_DATE='2020-01-01 00:00:00 +0000'
git init --quiet
git add --all --force
commit=$(git -c user.name=openintent -c user.email= commit-tree -m "$version" "$(git write-tree)")
git archive --format=zip --prefix="openintent-$version/" --output="$outdir/openintent-go-$version.zip" "$commit"
echo "$outdir/openintent-go-$version.zip"
