#!/usr/bin/env bash
# Runs the tests of an adapter with its real framework: installs the locked environment, compiles this package's sources, the tests and the
# example with the framework's own types, and runs the tests with a server in a process of its own.
#
#   sdk/typescript/frameworks/run.sh FOLDER ADAPTER    ai ai
#
# OPENINTENT_TEST_PROGRAM names the server's program; without it, it is built. OPENINTENT_TEST_POSTGRES is the URL of a server of PostgreSQL
# whose user may create databases (scripts/with-postgres.sh). TESTS are patterns of the tests' names, for some of them.
set -euo pipefail
if (($# != 2)); then
  echo "usage: sdk/typescript/frameworks/run.sh FOLDER ADAPTER" >&2
  exit 2
fi
name=$1 adapter=$2
project=$(cd "$(dirname "$0")/../../.." && pwd)
sdk=$project/sdk/typescript
folder=$sdk/frameworks/$name
cd "$project"
# The frameworks need a newer Node.js than this package.
if [[ ${OPENINTENT_NODE_FITS:-} != 22 ]]; then
  OPENINTENT_NODE_FITS=22 exec scripts/node.sh --oldest 22 "$0" "$@"
fi
if [[ -z ${OPENINTENT_TEST_PROGRAM:-} ]]; then
  export OPENINTENT_TEST_PROGRAM=$project/.cache/tested/openintent
  go build -o "$OPENINTENT_TEST_PROGRAM" ./cmd/openintent
fi
modules=$(scripts/node-env.sh "sdk/typescript/frameworks/$name")
tsc=$modules/.bin/tsc

# What is compiled lies below the folder, so that it finds the framework there.
build=$folder/build
rm -rf "$build" "$modules/@openintent"
mkdir -p "$build/package" "$build/tests/$name" "$modules/@openintent"
cp -r "$sdk/src" "$sdk/package.json" "$build/package"
rm "$build/package/src/frameworks/frameworks.d.ts"
ln -s ../../build/package "$modules/@openintent/channels"
cat >"$build/package/tsconfig.json" <<END
{"extends": "$sdk/tsconfig.json", "compilerOptions": {"rootDir": "src", "outDir": "dist", "typeRoots": ["$modules/@types"]},
 "include": [], "files": ["src/index.ts", "src/$adapter.ts"]}
END
"$tsc" -p "$build/package"

cp -r "$sdk/frameworks/bar" "$build/tests"
cp "$folder"/*.ts "$build/tests/$name"
cp "$project/examples/frameworks/$name/answerer.ts" "$build/tests/$name/example.ts"
cat >"$build/tests/tsconfig.json" <<END
{"extends": "$sdk/tsconfig.json", "compilerOptions": {"rootDir": ".", "outDir": ".", "declaration": false, "typeRoots": ["$modules/@types"]},
 "include": ["**/*.ts"], "exclude": []}
END
echo '{"type": "module"}' >"$build/tests/package.json"
"$tsc" -p "$build/tests"

exec node --test --test-force-exit --test-concurrency=1 --test-reporter=spec ${TESTS:+--test-name-pattern="$TESTS"} "$build/tests/$name"/*.test.js
