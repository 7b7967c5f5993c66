#!/usr/bin/env bash
# Packs a built program for Linux into OUTDIR, as a .deb and an .rpm, and prints their paths. Both hold the program, the unit of systemd,
# a file of settings, the manual page, and completions for bash, zsh and fish. The page and the completions come from HERE, the program of
# the same sources for this system, because a program for another processor cannot be run.
#
#   VERSION=... [DATE=...] scripts/package-linux.sh OUTDIR PROCESSOR PROGRAM HERE
set -euo pipefail
if (($# != 4)); then
  echo "usage: VERSION=... [DATE=...] scripts/package-linux.sh OUTDIR PROCESSOR PROGRAM HERE" >&2
  exit 2
fi
outdir=$(cd "$1" && pwd) processor=$2 program=$(realpath "$3") here=$(realpath "$4")
cd "$(dirname "$0")/.."
umask 022 # nfpm takes the modes of folders from here
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

SOURCE_DATE_EPOCH=$(date --utc --date "${DATE:-1980-01-01T00:00:00Z}" +%s)
export SOURCE_DATE_EPOCH TZ=UTC

root=$stage/root
cp -r deploy/linux "$root"
cp LICENSE deploy/settings.yaml deploy/systemd/openintent.sysusers "$root"
cp "$program" "$root/openintent"
sed 's#/usr/local/bin/#/usr/bin/#' deploy/systemd/openintent.service >"$root/openintent.service"
"$here" man | gzip -9n >"$root/openintent.1.gz"
for shell in bash zsh fish; do
  "$here" completion "$shell" >"$root/completion.$shell"
done
gzip -9n <CHANGELOG.md >"$root/changelog.gz"

# Debian sorts 0.3.0~dev before 0.3.0. An address of nobody's stands there until whoever publishes packages says another.
maintainer=${MAINTAINER:-openintent developers <maintainers@openintent.invalid>}
gzip -9n >"$root/changelog.Debian.gz" <<END
openintent (${VERSION/-/\~}-1) unstable; urgency=medium

  * Version $VERSION; changelog.gz says what is new.

 -- $maintainer  $(LC_ALL=C date --utc --date "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')
END

nfpm=$(go tool -n -modfile=tools/nfpm/go.mod nfpm)
cd "$root"
export PACKAGE_ARCH=$processor PACKAGE_VERSION=$VERSION PACKAGE_MAINTAINER=$maintainer
for packager in deb rpm; do
  "$nfpm" package --config nfpm.yaml --packager "$packager" --target "$outdir" >"$stage/said" 2>&1 || { cat "$stage/said" >&2; exit 1; }
  sed -n 's/^created package: //p' "$stage/said"
done
