#!/usr/bin/env bash
# An operator's day with a server that others use meanwhile: install, upgrade, key rotation, backup, restore, failover. It says what it
# does, and fails at the first thing that is not as it should be.
#
#   day.sh PROGRAM FOLDER
#
# PROGRAM is of this release. FOLDER is empty; the servers live in it. The environment says where:
#
#   DATABASE   an empty database: sqlite:PATH, or postgres://... for two servers
#   RESTORED   with PostgreSQL, a second empty database, into which the backup goes
#   PREVIOUS   the program of the last release, with which the day begins; without it nothing is upgraded
#   OPENINTENT_TEST_CLUSTER, OPENINTENT_TEST_CLUSTER_NODES
#              the cluster of scripts/with-patroni.sh in which DATABASE is; without it nothing fails over
set -euo pipefail
# PostgreSQL's programs, where Debian does not put them into the path.
PATH=$PATH:$(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort | tail -n 1)

program=$1 home=$2
servers=(1)
if [[ $DATABASE == postgres* ]]; then
  servers=(1 2)
fi
declare -A pids=()
talker=

step() { echo "$(date +%T) $*"; }
fail() {
  echo "not so: $*" >&2
  tail -n 5 "$home"/*.log >&2
  exit 1
}
finish() {
  trap '' INT TERM
  for pid in "${pids[@]}" $talker; do
    kill -KILL "$pid" 2>/dev/null || true
  done
}
trap finish EXIT

# await repeats a command until it succeeds, for 90 seconds at most.
await() {
  local end=$((SECONDS + 90))
  until "$@"; do
    ((SECONDS < end)) || fail "waited too long for: $*"
    sleep 0.1
  done
}

listening() { grep -q '"msg":"listening"' "$home/$1.log"; }
address() { grep '"msg":"listening"' "$home/$1.log" | grep -oE "\"$2\":\"[^\"]*\"" | cut -d '"' -f 4; }

# start starts a server, with a settings file if its program knows one.
start() { # SERVER PROGRAM [DATABASE]
  local database=${3:-$DATABASE}
  : >"$home/$1.log"
  if [[ $2 == "$program" ]]; then
    printf '%s\n' "database-url: '$database'" "api-keys-file: '$home/keys.yaml'" "http-addr: 127.0.0.1:0" "grpc-addr: 127.0.0.1:0" \
      "log-format: json" >"$home/$1.yaml"
    chmod 600 "$home/$1.yaml"
    "$2" serve --settings-file "$home/$1.yaml" 2>>"$home/$1.log" &
  else
    OPENINTENT_DATABASE_URL=$database OPENINTENT_API_KEYS_FILE=$home/keys.yaml OPENINTENT_HTTP_ADDR=127.0.0.1:0 \
      OPENINTENT_GRPC_ADDR=127.0.0.1:0 OPENINTENT_LOG_FORMAT=json "$2" serve 2>>"$home/$1.log" &
  fi
  pids[$1]=$!
  await listening "$1"
  address "$1" http >"$home/$1.http.new"
  mv "$home/$1.http.new" "$home/$1.http"
  await "$program" health "$(<"$home/$1.http")" >/dev/null
}
stop() { # SERVER
  kill -TERM "${pids[$1]}"
  wait "${pids[$1]}" || fail "server $1 did not stop as it was asked"
  unset "pids[$1]"
}

# call makes a call over REST at a server, with a key, as the agent $as or the talker.
call() { # SERVER KEY PATH [CURL-ARGUMENT...]
  curl -sS --max-time 20 -H "X-API-Key: $2" -H "X-Agent-ID: ${as:-talker}" "http://$(<"$home/$1.http")/v1/$3" "${@:4}"
}
status() { call "$@" -o /dev/null -w '%{http_code}'; }
id() { grep -oE '"id": *"[^"]+"' | head -n 1 | cut -d '"' -f 4; }
# operate runs a command of the operator against the first server.
operate() { "$program" "$@" --server "$(address 1 grpc)" --api-key "$operator"; }

# talk sends one message after the other, each until a server has acknowledged it, as a client with an idempotency key does.
talk() {
  local n code
  n=$(tail -n 1 "$home/acknowledged")
  trap - EXIT
  while [[ ! -e $home/quiet ]]; do
    n=$((n + 1)) code=
    until [[ $code == 201 ]]; do
      for server in "${servers[@]}"; do
        code=$(status "$server" "$(<"$home/talker.key")" "channels/$channel/messages" -H "Idempotency-Key: day-$n" \
          -d "{\"payload\": {\"n\": $n}}" 2>/dev/null) || true
        [[ $code != 201 ]] || break
        sleep 0.1
      done
    done
    echo "$n" >>"$home/acknowledged"
    sleep 0.1
  done
}
begin_talking() {
  rm -f "$home/quiet"
  talk &
  talker=$!
}
end_talking() {
  touch "$home/quiet"
  wait "$talker"
  talker=
}
acknowledged() { wc -l <"$home/acknowledged"; }
more_than() { (($(acknowledged) > $1)); }
# await_more waits until some more messages are acknowledged.
await_more() { await more_than "$(($(acknowledged) + 5))"; }
# expect_all checks that a server lists every message that was acknowledged, once and in order, and no other one.
expect_all() { # SERVER FILE
  call "$1" "$operator" "channels/$channel/messages?limit=1000" | grep -oE '"n": *[0-9]+' | grep -oE '[0-9]+' >"$home/listed"
  cmp "$2" "$home/listed" || fail "server $1 lists other messages than were acknowledged"
}

operator=k-operator-$RANDOM$RANDOM
write_keys() { # KEY OF THE TALKER
  printf '%s\n' "- key: $operator" '  roles: ["*"]' "- key: $1" "  agents: [talker]" >"$home/keys.yaml"
  chmod 600 "$home/keys.yaml"
  echo "$1" >"$home/talker.key.new"
  mv "$home/talker.key.new" "$home/talker.key"
}

touch "$home/acknowledged"
step "install $("${PREVIOUS:-$program}" version | cut -d ' ' -f 1,2)"
write_keys k-first-000000
for server in "${servers[@]}"; do
  start "$server" "${PREVIOUS:-$program}"
done
intent=$(call 1 "$operator" intents -d '{"title": "A day"}' | id)
channel=$(call 1 "$operator" "intents/$intent/channels" -d '{"name": "day", "options": {"max_messages": 10000}}' | id)
begin_talking
await_more

if [[ -n ${PREVIOUS:-} ]]; then
  step "upgrade to $("$program" version | cut -d ' ' -f 1,2)"
  if [[ $DATABASE == postgres* ]]; then
    code=0
    "$program" migrate --check --database-url "$DATABASE" >/dev/null || code=$?
    ((code == 10)) || fail "migrate --check exits with 10 when there is something to do, not $code"
    "$program" migrate --database-url "$DATABASE" >/dev/null
    await_more
  fi
  for server in "${servers[@]}"; do
    stop "$server"
    start "$server" "$program"
    await_more
  done
  if [[ $DATABASE == postgres* ]]; then
    "$program" migrate --check --database-url "$DATABASE" >/dev/null || fail "the schema is up to date"
  fi
fi

step "change the key of the file, and rotate one of the database"
write_keys k-second-000000
for server in "${servers[@]}"; do
  kill -HUP "${pids[$server]}"
done
refused() { [[ $(as=$2 status 1 "$1" whoami) == 401 ]]; }
await refused k-first-000000 talker
await_more
kept=$(operate keys create "the reporters" --bind reporter 2>/dev/null)
key=$(operate keys list --json | id)
next=$(operate keys rotate "$key" --grace 1h 2>/dev/null)
for secret in "$kept" "$next"; do
  [[ $(as=reporter status 1 "$secret" whoami) == 200 ]] || fail "both secrets of a key work for a while"
done
operate keys revoke "$key" >/dev/null
await refused "$next" reporter

step "back up"
if [[ $DATABASE == postgres* ]]; then
  pg_dump --format=custom --file="$home/backup" "$DATABASE"
  await_more
  step "restore into another database"
  pg_restore --no-owner --dbname="$RESTORED" "$home/backup"
  "$program" check --database-url "$RESTORED" >"$home/check"
  start restored "$program" "$RESTORED"
  call restored "$operator" "channels/$channel/messages?limit=1000" | grep -oE '"n": *[0-9]+' | grep -oE '[0-9]+' >"$home/restored"
  head -n "$(wc -l <"$home/restored")" "$home/acknowledged" | cmp - "$home/restored" || fail "the backup has what was acknowledged before it"
  [[ -s $home/restored ]] || fail "the backup is not empty"
  stop restored
  end_talking
else
  "$program" backup --database-url "$DATABASE" "$home/backup" >/dev/null
  await_more
  end_talking
  step "restore"
  { call 1 "$operator" "subscribe/intents/$intent" --max-time 2 -H 'Last-Event-ID: 0' 2>/dev/null || true; } >"$home/stream" # it never ends
  position=$(grep -oE '^id: [0-9]+' "$home/stream" | tail -n 1 | cut -d ' ' -f 2)
  stop 1
  file=${DATABASE#sqlite:}
  mv "$file" "$file.lost"
  rm -f "$file-wal" "$file-shm"
  cp "$home/backup" "$file"
  "$program" check --database-url "$DATABASE" >"$home/check"
  start 1 "$program"
  call 1 "$operator" "channels/$channel/messages?limit=1000" | grep -oE '"n": *[0-9]+' | grep -oE '[0-9]+' >"$home/restored"
  head -n "$(wc -l <"$home/restored")" "$home/acknowledged" | cmp - "$home/restored" || fail "the backup has what was acknowledged before it"
  (($(wc -l <"$home/restored") < $(acknowledged))) || fail "what came after the backup is gone"
  call 1 "$operator" "subscribe/intents/$intent" -H "Last-Event-ID: $position" | grep -q CURSOR_BEYOND_LOG || fail "a later position is refused"
  cp "$home/restored" "$home/acknowledged"
fi

if [[ -n ${OPENINTENT_TEST_CLUSTER:-} ]]; then
  begin_talking
  await_more
  step "the machine of the primary vanishes"
  IFS=, read -ra nodes <<<"$OPENINTENT_TEST_CLUSTER_NODES"
  names=(a b) primary=
  for i in 0 1; do
    if curl -sS -o /dev/null --fail --max-time 2 "http://${nodes[$i]#*/}/primary" 2>/dev/null; then
      primary=$OPENINTENT_TEST_CLUSTER/${names[$i]}
    fi
  done
  [[ -n $primary ]] || fail "the cluster has a primary"
  touch "$primary/held"
  kill -KILL "$(<"$primary/patroni.pid")" "$(head -n 1 "$primary/data/postmaster.pid")"
  gone=$SECONDS
  sleep 3
  rm "$primary/held" # it comes back, and follows the new primary
  await_more
  step "messages are acknowledged again, $((SECONDS - gone)) seconds later"
  end_talking
fi

step "look whether everything is there"
for server in "${servers[@]}"; do
  expect_all "$server" "$home/acknowledged"
done
"$program" check --database-url "$DATABASE" >"$home/check"
for server in "${servers[@]}"; do
  stop "$server"
done
step "$(acknowledged) messages were acknowledged; all are there, once and in order"
