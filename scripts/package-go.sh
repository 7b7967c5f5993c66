#!/usr/bin/env bash
# Packs the Go SDK as a separate module into OUTDIR and prints the archive's path. The module contains the SDK, the code
# generated from the contract except the server's half, and a go.mod with this repository's versions of their dependencies.
# sdk/go/README.md explains how to use it.
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

# All SDKs have the same version.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' sdk/python/pyproject.toml)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

mkdir -p "$stage/sdk/go"/{opentelemetry,exchange,internal/pace,openintenttest,story} "$stage/gen/openintent/v1"
cp LICENSE "$stage"
cp sdk/README.md "$stage/sdk"
cp sdk/go/README.md sdk/go/*.go "$stage/sdk/go"
cp sdk/go/opentelemetry/*.go "$stage/sdk/go/opentelemetry"
cp sdk/go/exchange/*.go "$stage/sdk/go/exchange"
cp sdk/go/internal/pace/*.go "$stage/sdk/go/internal/pace"
cp sdk/go/openintenttest/*.go "$stage/sdk/go/openintenttest"
cp sdk/go/story/*.go "$stage/sdk/go/story"
cp gen/openintent/v1/*.go "$stage/gen/openintent/v1"
# The gateway belongs to the server, and the tests need dependencies that users do not.
rm "$stage"/gen/openintent/v1/*.pb.gw.go "$stage"/sdk/go/*_test.go "$stage"/sdk/go/opentelemetry/*_test.go "$stage"/sdk/go/internal/pace/*_test.go "$stage"/sdk/go/story/*_test.go

# Of the repository's requirements, only those of these packages stay, with their versions.
cp go.mod go.sum "$stage"
cd "$stage"
go mod tidy
go build ./...

# git makes the archive, because not everybody has zip; fixed times make the archive the same for the same content.
export GIT_AUTHOR_DATE='2020-01-01 00:00:00 +0000' GIT_COMMITTER_DATE='2020-01-01 00:00:00 +0000'
git init --quiet
git add --all --force
commit=$(git -c user.name=openintent -c user.email= commit-tree -m "$version" "$(git write-tree)")
git archive --format=zip --prefix="openintent-$version/" --output="$outdir/openintent-go-$version.zip" "$commit"
echo "$outdir/openintent-go-$version.zip"
