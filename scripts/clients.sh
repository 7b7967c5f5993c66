#!/usr/bin/env bash
# Lints the OpenAPI document in gen/openapi, makes clients of it in TypeScript, Python and Java as others would, and lets each ask a
# question and answer it at a server. The generators are pinned in tools/clients and here; they are installed into .cache.
#
#   scripts/clients.sh
set -euo pipefail
cd "$(dirname "$0")/.."

# The generator of Java clients, from Maven Central, and its digest.
java_generator=7.17.0
java_generator_sum=25d6bd8273dd2be99979d544b62ea43f0ce1975f1aa582678b5093d1e7fcfce8

document=$PWD/gen/openapi/openapi.json
installed=$PWD/.cache/clients
programs=$PWD/e2e/clients/testdata
mkdir -p "$installed"

# redocly and Node's own reading of TypeScript need this version or a newer one.
node=("$PWD/scripts/node.sh" --oldest 22)
# A copy of the lock file marks a finished installation: an incomplete or outdated one is repeated.
if ! cmp --silent tools/clients/package-lock.json "$installed/node_modules/installed-lock.json"; then
  cp tools/clients/package*.json "$installed"
  "${node[@]}" npm --prefix "$installed" ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  cp tools/clients/package-lock.json "$installed/node_modules/installed-lock.json"
fi
tool() { "${node[@]}" "$installed/node_modules/.bin/$1" "${@:2}"; }

echo "== redocly lint"
linted=$(cd "$installed" && REDOCLY_TELEMETRY=off tool redocly lint "$document" --extends recommended 2>&1) || { echo "$linted" >&2; exit 1; }
if grep -qi 'warning' <<<"$linted"; then
  echo "$linted" >&2
  exit 1
fi

echo "== TypeScript"
rm -rf "$installed/typescript"
mkdir "$installed/typescript"
cp "$programs/ask.mts" "$installed/typescript"
(
  cd "$installed/typescript"
  tool openapi-typescript "$document" --output api.d.ts >/dev/null
  tool tsc --noEmit --strict --target es2022 --module nodenext --skipLibCheck --allowImportingTsExtensions --types node ask.mts
)

echo "== Python"
python=$(scripts/python-env.sh clients-python tools/clients/requirements.txt)
rm -rf "$installed/python"
mkdir "$installed/python"
cp "$programs/ask.py" "$installed/python"
(
  cd "$installed/python"
  export PATH=${python%/*}:$PATH
  openapi-python-client generate --path "$document" --output-path made --fail-on-warning >/dev/null
  mv made/open_intent_client .
)

echo "== Java"
if ! command -v mvn >/dev/null; then
  echo "Maven and a JDK of version 17 or newer are needed: install them ('apt-get install maven default-jdk-headless' on Debian)." >&2
  exit 1
fi
generator=$installed/openapi-generator-cli-$java_generator.jar
if ! sha256sum --check --status <<<"$java_generator_sum  $generator"; then
  mvn --batch-mode --quiet dependency:copy "-DoutputDirectory=$installed" \
    "-Dartifact=org.openapitools:openapi-generator-cli:$java_generator"
  sha256sum --check --quiet <<<"$java_generator_sum  $generator"
fi
rm -rf "$installed/java"
# Java has a class Thread already, and the generator's code for queries takes no lists of words.
java -jar "$generator" generate --generator-name java --library native --input-spec "$document" --output "$installed/java" \
  --model-name-mappings Thread=MessageThread --additional-properties supportUrlQuery=false,hideGenerationTimestamp=true \
  --additional-properties invokerPackage=org.openintent.client,apiPackage=org.openintent.client.api \
  --additional-properties modelPackage=org.openintent.client.model \
  --global-property apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false >"$installed/java.log"
cp "$programs/Ask.java" "$installed/java/src/main/java"
(
  cd "$installed/java"
  mvn --batch-mode --quiet -DskipTests compile dependency:copy-dependencies -DoutputDirectory=target/libraries
)

echo "== Each asks and answers"
OPENINTENT_TEST_ONLY_SQLITE=1 go test -tags clients -count 1 ./e2e/clients
