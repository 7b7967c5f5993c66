#!/usr/bin/env bash
# Builds the program for each system into OUTDIR: an archive, a list of what the program is made of (SBOM, CycloneDX), and
# SHA256SUMS of all of them. The same commit gives the same bytes, wherever it is built with the same Go.
#
#   COMMIT=... DATE=... scripts/release.sh OUTDIR [SYSTEM/PROCESSOR...]
#
# COMMIT and DATE are written into the program, as `make build` does. Without DATE the sources differ from the commit, so the
# archives have times of 1970.
set -euo pipefail
if (($# == 0)); then
  echo "usage: COMMIT=... DATE=... scripts/release.sh OUTDIR [SYSTEM/PROCESSOR...]" >&2
  exit 2
fi
mkdir -p "$1"
outdir=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
if (($# == 0)); then
  set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
fi

version=$(sed -n 's/^const version = "\(.*\)"$/\1/p' cmd/openintent/version.go)
named="-s -w${COMMIT:+ -X main.commit=$COMMIT}${DATE:+ -X main.date=$DATE}"
sbom=$(mktemp)
stage=$(mktemp -d)
trap 'rm -rf "$stage" "$sbom"' EXIT
go build -C tools/sbom -o "$sbom" .

# git makes the archives, because it writes both forms, with the modes and times that it is told, and everybody has it.
export GIT_AUTHOR_DATE="${DATE:-1970-01-01T00:00:00Z}" GIT_COMMITTER_DATE="${DATE:-1970-01-01T00:00:00Z}" TZ=UTC
pack() { # FOLDER ARCHIVE
  local git=(git --git-dir "$stage/git" --work-tree "$stage/$1")
  rm -rf "$stage/git"
  git init --quiet --bare "$stage/git"
  "${git[@]}" add --all --force
  local commit
  commit=$("${git[@]}" -c user.name=openintent -c user.email= commit-tree -m "$version" "$("${git[@]}" write-tree)")
  # gzip's own header has no name and no time.
  "${git[@]}" -c tar.umask=0022 -c tar.tar.gz.command="gzip -9n" archive --prefix="$1/" --output="$outdir/$2" "$commit"
}

made=()
for target; do
  system=${target%/*} processor=${target#*/} name=openintent-$version-${target/\//-}
  program=openintent archive=$name.tar.gz
  if [[ $system == windows ]]; then
    program=openintent.exe archive=$name.zip
  fi
  mkdir "$stage/$name"
  CGO_ENABLED=0 GOOS=$system GOARCH=$processor GOFLAGS= \
    go build -trimpath -buildvcs=false -ldflags "$named" -o "$stage/$name/$program" ./cmd/openintent
  cp README.md LICENSE CHANGELOG.md deploy/settings.yaml "$stage/$name"
  if [[ $system == linux ]]; then
    cp deploy/systemd/openintent.service deploy/systemd/openintent.sysusers "$stage/$name"
  fi
  chmod -R u=rwX,go=rX "$stage/$name"
  "$sbom" -name openintent -version "$version" -date "${DATE:-}" "$stage/$name/$program" >"$outdir/$name.cdx.json"
  pack "$name" "$archive"
  rm -rf "${stage:?}/$name"
  made+=("$archive" "$name.cdx.json")
  echo "$outdir/$archive"
done
(cd "$outdir" && sha256sum "${made[@]}" >SHA256SUMS)
