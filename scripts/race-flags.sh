#!/usr/bin/env bash
# Prints the Go tool's flags for a build with the race detector, one a line, because one has a space.
#
# The detector watches all Go code except some of others that shares nothing between goroutines by itself. SQLite's is translated from C; its memory
# is not Go's, so the detector would find nothing there, but it would look at every access, and tests on SQLite would take almost twice as long.
# Cryptography, compression, numbers, characters and regular expressions compute. The drivers of both databases use a connection for one
# caller at a time. The parser of commands runs in one goroutine. Together these took a third of the time of tests that call a server.
# What such code does with memory of ours goes unseen, so nothing is on the list that is given shared things to work on: no JSON, no
# Protobuf, no gRPC, no gorm, no buffers. Nor is anything that tells other code by atomic variables what it may read.
#
# With the detector the compiler also checks at run time how code converts unsafe pointers. Nobody writes such code here, and the checks in
# the code of others took an eighth of the time of the tests that call a server.
set -euo pipefail

cd "$(dirname "$0")/.."
read -ra slim <<<"$(scripts/slim-flags.sh)"
printf '%s\n' -race "${slim[@]}" "-gcflags=all=-dwarf=false -d=checkptr=0"
for package in modernc.org/sqlite... modernc.org/libc... modernc.org/memory github.com/jackc/pgx/v5... \
  github.com/alecthomas/kong github.com/google/jsonschema-go... github.com/prometheus/... golang.org/x/net/... \
  compress/... crypto/... hash... math math/big math/bits mime... net/textproto net/url regexp... strconv unicode...; do
  echo "-gcflags=$package=-race=false -dwarf=false"
done
