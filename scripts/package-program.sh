#!/usr/bin/env bash
# Packs the programs of a release for those who have no Go: a wheel and an npm package for each system, the npm package with the commands,
# and a .deb and an .rpm for each processor of Linux. It takes the programs from the archives that scripts/release.sh has written into
# OUTDIR, writes the packages there, and prints their paths. The same archives give the same packages: all files have the time that the
# release's bill of materials names, or 1980, the first that a wheel can have, if it names none.
#
#   scripts/package-program.sh OUTDIR [SYSTEM/PROCESSOR...]
set -euo pipefail
if (($# == 0)); then
  echo "usage: scripts/package-program.sh OUTDIR [SYSTEM/PROCESSOR...]" >&2
  exit 2
fi
outdir=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
if (($# == 0)); then
  set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
fi

version=$(sed -n 's/^const version = "\(.*\)"$/\1/p' cmd/openintent/version.go)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

date=
programs=()
for target; do
  name=openintent-$version-${target/\//-} program=openintent archive=$name.tar.gz
  if [[ $target == windows/* ]]; then
    program=openintent.exe archive=$name.zip
  fi
  if [[ ! -f $outdir/$archive ]]; then
    echo "package-program: $outdir has no $archive; 'make release TARGETS=$target' builds it" >&2
    exit 1
  fi
  case $archive in
  *.zip) python3 -m zipfile -e "$outdir/$archive" "$stage" ;;
  *) tar --extract --gzip --file "$outdir/$archive" --directory "$stage" ;;
  esac
  date=$(sed -n 's/^ *"timestamp": "\(.*\)",*$/\1/p' "$outdir/$name.cdx.json")
  programs+=("$target=$stage/$name/$program")
done

rm -f "$outdir"/openintentd-*.whl "$outdir"/openintent-server-*.tgz "$outdir"/openintent_*.deb "$outdir"/openintent-*.rpm # of other versions
go -C tools run ./packages -version "$version" -date "$date" -sources "$PWD" -out "$outdir" "${programs[@]}"

here=
for pair in "${programs[@]}"; do
  if [[ ${pair%%=*} == "$(go env GOHOSTOS)/$(go env GOHOSTARCH)" ]]; then
    here=${pair#*=}
  fi
done
for pair in "${programs[@]}"; do
  if [[ $pair == linux/* ]]; then
    target=${pair%%=*}
    if [[ -z $here ]]; then
      here=$stage/here
      CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w${date:+ -X main.date=$date}" -o "$here" ./cmd/openintent
    fi
    VERSION=$version DATE=$date scripts/package-linux.sh "$outdir" "${target#*/}" "${pair#*=}" "$here"
  fi
done
