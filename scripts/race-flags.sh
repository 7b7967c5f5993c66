#!/usr/bin/env bash
# Prints the Go tool's flags for a build with the race detector.
#
# The detector watches all Go code except SQLite's, which a program has translated from C. SQLite's memory is not Go's, so the
# detector would find nothing there. But it would look at every access, and tests on SQLite would take almost twice as long. The parser of
# commands, which runs in one goroutine, and regular expressions, which never change, are left out too: a command's parser is made anew
# for each test of the command line, and took most of their time.
#
# What only debuggers need is left out, because compiling and linking it takes a tenth of the time.
set -euo pipefail

flags=(-race -ldflags=-w -gcflags=all=-dwarf=false)
for package in modernc.org/sqlite/lib modernc.org/libc... modernc.org/memory github.com/alecthomas/kong regexp...; do
  flags+=("-gcflags=$package=-race=false")
done
echo "${flags[*]}"
