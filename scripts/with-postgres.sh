#!/usr/bin/env bash
# Runs a command with a private, empty PostgreSQL server and stops the server afterwards, whatever the command's result.
# The command's exit code becomes this script's.
#
#   scripts/with-postgres.sh [--durable] COMMAND [ARGUMENT...]
#
# The command finds the server's address in OPENINTENT_TEST_POSTGRES. If that is already set, the command runs with it
# unchanged, and no server is started. The server listens on 127.0.0.1 and keeps its data in a temporary directory. It does
# not wait for the disk (fsync off) unless --durable is given, which benchmarks need. Without --durable the directory is in
# memory if there is enough, and OPENINTENT_TEST_MEMORY names a folder there for the files of SQLite. On Debian the script
# installs PostgreSQL when it is missing and the caller is root.
set -euo pipefail

oldest_supported=15
fsync=off
if [[ ${1:-} == --durable ]]; then
  fsync=on
  shift
fi
if (($# == 0)); then
  echo "usage: scripts/with-postgres.sh [--durable] COMMAND [ARGUMENT...]" >&2
  exit 2
fi
if [[ -n ${OPENINTENT_TEST_POSTGRES:-} ]]; then
  exec "$@"
fi

# find_binaries sets `binaries` to the directory of the newest supported PostgreSQL, or fails.
find_binaries() {
  local directory version
  for directory in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort --reverse) \
    "$(dirname "$(command -v postgres || echo /nonexistent/postgres)")"; do
    [[ -x $directory/postgres && -x $directory/initdb ]] || continue
    version=$("$directory/postgres" --version | sed -E 's/^[^0-9]*([0-9]+).*/\1/')
    if ((version >= oldest_supported)); then
      binaries=$directory
      return 0
    fi
  done
  return 1
}

if ! find_binaries; then
  if ((EUID == 0)) && command -v apt-get >/dev/null; then
    echo "PostgreSQL is missing; installing it." >&2
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2
  fi
  if ! find_binaries; then
    echo "PostgreSQL $oldest_supported or newer is needed: install it ('apt-get install postgresql' on Debian)," \
      "or set OPENINTENT_TEST_POSTGRES to the URL of a server whose user may create databases." >&2
    exit 1
  fi
fi

# PostgreSQL refuses to run as root. With setpriv the server also ends when this script is killed.
as_server=()
if command -v setpriv >/dev/null; then
  as_server=(setpriv --pdeathsig QUIT)
fi

# Each test creates and drops a database, which is mostly work for the file system: in memory it takes half as long.
parent=/tmp
if [[ $fsync == off ]] && (($(df --output=avail --block-size=1G /dev/shm 2>/dev/null | tail -n 1) >= 4)) &&
  (($(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo) >= 6)); then
  parent=/dev/shm
fi
home=$(mktemp -d "$parent/openintent-postgres.XXXXXX")
if [[ $parent == /dev/shm ]]; then
  mkdir "$home/sqlite"
  export OPENINTENT_TEST_MEMORY=$home/sqlite
fi
if ((EUID == 0)); then
  as_server=(setpriv --reuid postgres --regid postgres --init-groups --pdeathsig QUIT)
  chown postgres: "$home"
fi

server=
stop() {
  if [[ -n $server ]]; then
    kill -QUIT "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$home"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The default collation is linguistic, as in production databases, so that tests notice a comparison without a collation.
if ! "${as_server[@]}" "$binaries/initdb" --pgdata "$home/data" --username postgres --auth trust --encoding UTF8 \
  --locale C.UTF-8 --locale-provider icu --icu-locale en --no-sync >"$home/log" 2>&1; then
  cat "$home/log" >&2
  exit 1
fi

# start tries one port; it fails when the server ends before it answers, which happens when the port is taken.
start() {
  local port=$1
  (
    cd "$home"
    exec "${as_server[@]}" "$binaries/postgres" -D "$home/data" -k "$home" -p "$port" -c listen_addresses=127.0.0.1 \
      -c max_connections=400 -c fsync="$fsync" -c full_page_writes="$fsync" -c timezone=UTC
  ) >>"$home/log" 2>&1 </dev/null &
  server=$!
  for _ in {1..300}; do
    if "$binaries/pg_isready" --quiet --host "$home" --port "$port"; then
      return 0
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  kill -QUIT "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  server=
  return 1
}

for _ in {1..10}; do
  port=$((10000 + RANDOM % 20000))
  if start "$port"; then
    break
  fi
done
if [[ -z $server ]]; then
  echo "PostgreSQL did not start; the end of its log:" >&2
  tail -n 20 "$home/log" >&2
  exit 1
fi

OPENINTENT_TEST_POSTGRES="postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable" "$@"
