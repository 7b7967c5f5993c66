#!/usr/bin/env bash
# Builds the program of a release from the history, unless that was done before, and prints its path. Releases are commits
# "Cut version X.Y.Z". Without VERSION it is the newest one whose X.Y is not that of these sources.
#
#   scripts/released.sh [VERSION]
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=${1:-}
present=$(sed -nE 's/^const version = "([0-9]+\.[0-9]+)\..*/\1/p' cmd/openintent/version.go)
commit=
while read -r hash name; do
  found=${name#Cut version }
  if [[ $found =~ ^([0-9]+\.[0-9]+)\.[0-9]+$ && ( $found == "$wanted" || -z $wanted && ${BASH_REMATCH[1]} != "$present" ) ]]; then
    commit=$hash version=$found
    break
  fi
done < <(git log --format='%H %s' --extended-regexp --grep='^Cut version [0-9.]+$')

if [[ -z $commit ]]; then
  if [[ $(git rev-parse --is-shallow-repository) == true ]]; then
    echo "The history of this clone does not reach back to the release; fetch it: git fetch --unshallow" >&2
  else
    echo "The history has no release ${wanted:-before $present}." >&2
  fi
  exit 1
fi

program=$PWD/.cache/releases/$version/openintent
if [[ ! -x $program ]]; then
  sources=$(mktemp -d)
  trap 'rm -rf "$sources"' EXIT
  git archive "$commit" | tar --extract --directory "$sources"
  echo "Building the program of release $version, which takes a minute or two." >&2
  # The workspace of this checkout, if there is one, is not that release's.
  (cd "$sources" && GOWORK=off GOFLAGS=-buildvcs=false CGO_ENABLED=0 go build -trimpath -o "$sources/built" ./cmd/openintent)
  mkdir -p "$(dirname "$program")"
  mv "$sources/built" "$program"
fi
echo "$program"
