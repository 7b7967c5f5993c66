#!/usr/bin/env bash
# Checks the packages that `make package` has built into OUTDIR: packs the same programs again in another place and compares, looks for the
# program of each system in its packages, and lets the tools that install packages choose and read them. Without PARTS it checks everything.
#
#   [PARTS="again contents pip npm linux root"] scripts/package-check.sh OUTDIR [SYSTEM/PROCESSOR...]
#
# The part contents needs dpkg-deb, linux needs lintian and rpm, and root needs mmdebstrap and root's rights.
set -euo pipefail
if (($# == 0)); then
  echo 'usage: [PARTS="again contents pip npm linux root"] scripts/package-check.sh OUTDIR [SYSTEM/PROCESSOR...]' >&2
  exit 2
fi
outdir=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
targets=("$@")
((${#targets[@]})) || targets=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)
version=$(sed -n 's/^const version = "\(.*\)"$/\1/p' cmd/openintent/version.go)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "package-check: $*" >&2
  exit 1
}

# needs COMMAND... fails if one is missing.
needs() {
  local command
  for command; do
    command -v "$command" >/dev/null || fail "$command is needed: install it, or leave this part out with PARTS"
  done
}

# only GLOB prints the path of the one package that matches in OUTDIR.
only() {
  # shellcheck disable=SC2206 # the name is a pattern
  local found=("$outdir"/$1)
  [[ ${#found[@]} == 1 && -f ${found[0]} ]] || fail "there is not exactly one $1 in $outdir; run make package first"
  echo "${found[0]}"
}

# The names of a system in Python and in Node.js, and of a processor in Debian's and in RPM's packages.
platforms() {
  case $1 in
  linux/amd64) echo manylinux_2_17_x86_64 musllinux_1_1_x86_64 ;;
  linux/arm64) echo manylinux_2_17_aarch64 musllinux_1_1_aarch64 ;;
  darwin/amd64) echo macosx_12_0_x86_64 macosx_15_0_x86_64 ;;
  darwin/arm64) echo macosx_12_0_arm64 macosx_15_0_arm64 ;;
  windows/amd64) echo win_amd64 ;;
  windows/arm64) echo win_arm64 ;;
  esac
}
node_name() { sed -e 's#windows/#win32-#' -e 's#/#-#' -e 's#amd64#x64#' <<<"$1"; }
rpm_name() { sed -e 's#.*/amd64#x86_64#' -e 's#.*/arm64#aarch64#' <<<"$1"; }
wheel_of() { only "openintentd-*$(platforms "$1" | cut -d ' ' -f 1)*.whl"; }
npm_of() { only "openintent-server-$(node_name "$1")-$version.tgz"; }
deb_of() { only "openintent_*_${1#*/}.deb"; }
rpm_of() { only "openintent-*.$(rpm_name "$1").rpm"; }

# Packs again, into another folder, with another umask, time zone and folder for temporary files.
check_again() {
  local archive package
  mkdir -p "$work/again" "$work/temporary"
  for archive in "$outdir/openintent-$version"-*.tar.gz "$outdir/openintent-$version"-*.zip "$outdir/openintent-$version"-*.cdx.json; do
    if [[ -f $archive ]]; then
      ln -s "$archive" "$work/again"
    fi
  done
  (umask 0077 && TZ=Pacific/Chatham TMPDIR=$work/temporary scripts/package-program.sh "$work/again" "${targets[@]}" >"$work/made")
  while read -r package; do
    cmp "$package" "$outdir/${package##*/}"
  done <"$work/made"
  echo "$(wc -l <"$work/made") packages have the same bytes"
}

# Each package holds the program of its system that is in the release.
check_contents() {
  local target program name place
  needs dpkg-deb
  for target in "${targets[@]}"; do
    place=$work/contents/$target name=openintent-$version-${target/\//-} program=openintent
    mkdir -p "$place/npm" "$place/deb"
    if [[ $target == windows/* ]]; then
      program=openintent.exe
      python3 -m zipfile -e "$(only "$name.zip")" "$place"
    else
      tar --extract --gzip --file "$(only "$name.tar.gz")" --directory "$place"
    fi
    go version -m "$place/$name/$program" >"$place/built"
    [[ $(sed -n 's/.*\tGO\(OS\|ARCH\)=//p' "$place/built" | sort | xargs) == "$(tr / '\n' <<<"$target" | sort | xargs)" ]] ||
      fail "$name holds the program of another system"
    grep -q 'CGO_ENABLED=0$' "$place/built" || fail "the program in $name needs a C library"
    python3 -m zipfile -e "$(wheel_of "$target")" "$place/wheel"
    cmp "$place/$name/$program" "$place"/wheel/*.data/scripts/"${program/openintent/openintentd}"
    tar --extract --gzip --file "$(npm_of "$target")" --directory "$place/npm"
    cmp "$place/$name/$program" "$place/npm/package/bin/$program"
    if [[ $target == linux/* ]]; then
      dpkg-deb --extract "$(deb_of "$target")" "$place/deb"
      cmp "$place/$name/$program" "$place/deb/usr/bin/openintent"
      grep -q '^ExecStart=/usr/bin/openintent serve ' "$place/deb/usr/lib/systemd/system/openintent.service" || fail "the unit starts another program"
    fi
    rm -rf "$place"
    echo "$target: its packages hold its program"
  done
}

# pip chooses the wheel of each system, by its name alone.
check_pip() {
  local target platform
  scripts/python-env.sh >/dev/null
  for target in "${targets[@]}"; do
    for platform in $(platforms "$target"); do
      .cache/python-installer/bin/pip download --quiet --disable-pip-version-check --no-index --find-links "$outdir" --no-deps \
        --only-binary :all: --platform "$platform" --dest "$work/$platform" openintentd
      cmp "$work/$platform"/*.whl "$(wheel_of "$target")"
      echo "$platform: pip takes $(basename "$(wheel_of "$target")")"
    done
  done
}

# npm installs the packages of this system, with the commands, in one go and offline, and refuses those of others.
check_npm() {
  local target here commands
  here=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
  commands=$(only "openintent-server-$version.tgz")
  for target in "${targets[@]}"; do
    rm -rf "$work/npm"
    mkdir "$work/npm"
    if scripts/node.sh npm install --prefix "$work/npm" --cache "$work/npm-cache" --offline --no-audit --no-fund "$commands" "$(npm_of "$target")" \
      >"$work/said" 2>&1; then
      [[ $target == "$here" ]] || fail "npm installed the package of $target on $here"
      [[ $("$work/npm/node_modules/.bin/openintent" version) == "openintent $version "* ]] || fail "the command that npm has installed does not run"
      echo "$target: npm takes the packages"
    elif [[ $target == "$here" ]] || ! grep -q EBADPLATFORM "$work/said"; then
      cat "$work/said" >&2
      fail "npm did not do with the packages of $target what it should"
    else
      echo "$target: npm refuses the packages here"
    fi
  done
}

# Debian's own checker has no complaint that it calls an error. rpm reads its package, which holds the program of the .deb.
check_linux() {
  local target said program
  needs lintian rpm
  for target in "${targets[@]}"; do
    [[ $target == linux/* ]] || continue
    lintian --allow-root --fail-on error "$(deb_of "$target")"
    said=$(rpm --query --package --nosignature --configfiles "$(rpm_of "$target")")
    [[ $said == /etc/openintent/settings.yaml ]] || fail "an upgrade of the .rpm would not keep the settings, but $said"
    said=$(rpm --query --package --nosignature --queryformat '%{ARCH} %{VERSION}-%{RELEASE}' "$(rpm_of "$target")")
    program=$(dpkg-deb --fsys-tarfile "$(deb_of "$target")" | tar --extract --to-stdout ./usr/bin/openintent | sha256sum)
    rpm --query --package --nosignature --queryformat '[%{FILENAMES} %{FILEDIGESTS}\n]' "$(rpm_of "$target")" |
      grep -qx "/usr/bin/openintent ${program%% *}" || fail "the .rpm holds another program than the .deb"
    echo "$target: lintian finds no error, and rpm reads $said"
  done
}

# The .deb is installed, upgraded, removed and purged in a Debian of its own.
check_root() {
  local processor older=$work/older name
  needs mmdebstrap
  processor=$(dpkg --print-architecture)
  name=openintent-$version-linux-$processor
  mkdir -p "$older"
  tar --extract --gzip --file "$(only "$name.tar.gz")" --directory "$older"
  VERSION=0.0.1 scripts/package-linux.sh "$older" "$processor" "$older/$name/openintent" "$older/$name/openintent" >/dev/null
  scripts/package-root.sh "$older/openintent_0.0.1-1_$processor.deb" "$(deb_of "linux/$processor")"
}

for part in ${PARTS:-again contents pip npm linux root}; do
  declare -F "check_$part" >/dev/null || fail "there is no part $part; there are again, contents, pip, npm, linux, root"
  echo "== $part"
  "check_$part"
done
