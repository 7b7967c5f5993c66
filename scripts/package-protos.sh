#!/usr/bin/env bash
# Packs the protos for programs in other languages into OUTDIR and prints the archive's path. The archive has
#
#   annotated/        the protos with the HTTP bindings and the bounds, and all that they import except google/protobuf
#   plain/            the same messages and services without annotations; of others they import only google/rpc/status.proto
#   openintent.binpb  the descriptor set of annotated/, with comments and imports
#   openapi.json      the OpenAPI document of REST
#
# The protos in the archive say which package or namespace their code has in each language. Those in proto/ do not say that: the last
# release had none, and `buf breaking` counts it as a change.
#
#   scripts/package-protos.sh OUTDIR
set -euo pipefail
if (($# != 1)); then
  echo "usage: scripts/package-protos.sh OUTDIR" >&2
  exit 2
fi
mkdir -p "$1"
outdir=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

# All SDKs have the same version.
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' sdk/python/pyproject.toml)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
name=openintent-protos-$version
root=$stage/$name
buf=$PWD/scripts/buf.sh

mkdir -p "$root/annotated" "$root/plain/openintent/v1" "$root/plain/google/rpc"
cp LICENSE gen/openapi/openapi.json "$root"
cp -r third_party/protovalidate/buf third_party/googleapis/google "$root/annotated"
cp -r proto/openintent "$root/annotated"
find "$root/annotated" -type f ! -name '*.proto' -delete
cp third_party/googleapis/google/rpc/status.proto "$root/plain/google/rpc"

options='
option csharp_namespace = "OpenIntent.V1";
option go_package = "openintent/gen/openintent/v1;openintentv1";
option java_multiple_files = true;
option java_package = "org.openintent.v1";
option php_namespace = "OpenIntent\\\\V1";
option ruby_package = "OpenIntent::V1";'
for proto in "$root"/annotated/openintent/v1/*.proto; do
  # The options come after the imports, or after the package if there are none.
  last=$(grep -nE '^(import|package) ' "$proto" | tail -n 1 | cut -d : -f 1)
  awk -v last="$last" -v options="$options" '{ print } NR == last { print options }' "$proto" >"$proto.new"
  mv "$proto.new" "$proto"
done
go -C tools run ./plainprotos "$root/annotated/openintent/v1" "$root/plain/openintent/v1"
# An empty body of a method becomes a semicolon.
sed -i -z -E 's/(returns \([^)]*\)) \{[[:space:]]*\}/\1;/g' "$root"/plain/openintent/v1/*.proto
"$buf" format --write "$root/annotated/openintent"
"$buf" format --write "$root/plain/openintent"

"$buf" build "$root/annotated" --as-file-descriptor-set --output "$root/openintent.binpb"
"$buf" build "$root/plain" --as-file-descriptor-set --output "$stage/plain.binpb"
go -C tools run ./plainprotos -compare "$root/openintent.binpb" "$stage/plain.binpb"

# Fixed times and owners make the archive the same for the same content.
tar --sort=name --mtime='2020-01-01 00:00:00Z' --owner=0 --group=0 --numeric-owner -C "$stage" -cf - "$name" |
  gzip --no-name >"$outdir/$name.tar.gz"
echo "$outdir/$name.tar.gz"
