#!/usr/bin/env bash
# Runs a command with a private cluster of PostgreSQL: etcd, and two servers under Patroni with the configuration that
# docs/cluster.md shows (docs/cluster/patroni.yaml). It ends all of it afterwards, whatever the command's result, which becomes
# this script's.
#
#   scripts/with-patroni.sh COMMAND [ARGUMENT...]
#
# Everything listens on loopback and keeps its files in one temporary directory. The command finds in its environment:
#
#   OPENINTENT_TEST_CLUSTER        the directory. Each node, a and b, has a folder in it with the process id of Patroni (patroni.pid), the
#                                  data of PostgreSQL (data) and a log. When Patroni ends, the script starts it again, as
#                                  systemd would, but not while there is a file `held` in the node's folder.
#   OPENINTENT_TEST_CLUSTER_NODES  the addresses of a and b: of PostgreSQL and of Patroni's API, as HOST:PORT/HOST:PORT,...
#   OPENINTENT_TEST_CLUSTER_SECRET the password of the users postgres and openintent, who has the database openintent
#
# On Debian the script installs what is missing if the caller is root.
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# == 0)); then
  echo "usage: scripts/with-patroni.sh COMMAND [ARGUMENT...]" >&2
  exit 2
fi

binaries=/usr/lib/postgresql/15/bin
missing() {
  for needed in etcd patroni setpriv "$binaries/postgres"; do
    command -v "$needed" >/dev/null || return 0
  done
  ! /usr/bin/python3 -c 'import etcd, patroni' 2>/dev/null
}

# install gets the Debian packages. The services that they bring must not start, so for that time nothing may.
install() {
  local policy=/usr/sbin/policy-rc.d ours=
  if [[ ! -e $policy ]]; then
    ours=$policy
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 0755 "$policy"
  fi
  apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-upgrade --no-install-recommends \
    etcd-server patroni python3-etcd postgresql-15 util-linux >&2 || true
  if [[ -n $ours ]]; then
    rm -f "$ours"
  fi
}

if missing; then
  if ((EUID == 0)) && command -v apt-get >/dev/null; then
    echo "etcd, Patroni or PostgreSQL 15 is missing; installing them." >&2
    install
  fi
  if missing; then
    echo "etcd, Patroni with its module for etcd, and PostgreSQL 15 are needed: install them" \
      "('apt-get install etcd-server patroni python3-etcd postgresql-15' on Debian)." >&2
    exit 1
  fi
fi

# PostgreSQL refuses to run as root. Whatever this script starts ends with it, except PostgreSQL itself, which `stop` ends.
as_server=(setpriv --pdeathsig KILL)
if ((EUID == 0)); then
  as_server=(setpriv --reuid postgres --regid postgres --init-groups --pdeathsig KILL)
fi
parent=/tmp
if (($(df --output=avail --block-size=1G /dev/shm 2>/dev/null | tail -n 1) >= 4)); then
  parent=/dev/shm
fi
home=$(mktemp -d "$parent/openintent-patroni.XXXXXX")
secret=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
mkdir "$home/a" "$home/b"
cp docs/cluster/patroni.yaml "$home/patroni.yaml"
if ((EUID == 0)); then
  chown -R postgres: "$home"
fi

# end kills a process that may have ended by itself, and may be stopped.
end() {
  kill -KILL "$1" 2>/dev/null || true
}
supervisors=()
etcd=
stop() {
  trap '' INT TERM
  for supervisor in "${supervisors[@]}"; do
    end "$supervisor"
  done
  for node in a b; do
    if [[ -s $home/$node/patroni.pid ]]; then
      end "$(<"$home/$node/patroni.pid")"
    fi
    if [[ -s $home/$node/data/postmaster.pid ]]; then
      local postmaster
      postmaster=$(head -n 1 "$home/$node/data/postmaster.pid")
      end "$postmaster" # its processes notice
    fi
  done
  if [[ -n $etcd ]]; then
    end "$etcd"
  fi
  wait 2>/dev/null || true
  rm -rf "$home" 2>/dev/null || { sleep 1 && rm -rf "$home"; } || true # something may still have written there
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

base=$((20000 + RANDOM % 10000))
peer=$base client=$((base + 1))
declare -A postgres=([a]=$((base + 2)) [b]=$((base + 3))) api=([a]=$((base + 4)) [b]=$((base + 5)))

(cd "$home" && exec "${as_server[@]}" etcd --name one --data-dir "$home/etcd" --logger zap --log-level warn \
  --listen-client-urls "http://127.0.0.1:$client" --advertise-client-urls "http://127.0.0.1:$client" \
  --listen-peer-urls "http://127.0.0.1:$peer" --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
  --initial-cluster "one=http://127.0.0.1:$peer") >"$home/etcd.log" 2>&1 &
etcd=$!

# supervise keeps a node's Patroni running.
supervise() {
  local node=$1
  trap - EXIT
  while [[ -d $home/$node ]]; do
    if [[ ! -e $home/$node/held ]]; then
      (
        cd "$home/$node"
        exec env PATRONI_NAME="$node" PATRONI_ETCD3_HOSTS="127.0.0.1:$client" \
          PATRONI_RESTAPI_LISTEN="127.0.0.1:${api[$node]}" PATRONI_RESTAPI_CONNECT_ADDRESS="127.0.0.1:${api[$node]}" \
          PATRONI_POSTGRESQL_LISTEN="127.0.0.1:${postgres[$node]}" \
          PATRONI_POSTGRESQL_CONNECT_ADDRESS="127.0.0.1:${postgres[$node]}" \
          PATRONI_POSTGRESQL_DATA_DIR="$home/$node/data" PATRONI_POSTGRESQL_PGPASS="$home/$node/pgpass" \
          PATRONI_SUPERUSER_USERNAME=postgres PATRONI_SUPERUSER_PASSWORD="$secret" \
          PATRONI_REPLICATION_USERNAME=replicator PATRONI_REPLICATION_PASSWORD="$secret" \
          "${as_server[@]}" patroni "$home/patroni.yaml"
      ) >>"$home/$node/log" 2>&1 </dev/null &
      echo $! >"$home/$node/patroni.pid"
      wait $! || true
    fi
    sleep 0.2
  done
}
for node in a b; do
  supervise "$node" 2>/dev/null &
  supervisors+=($!)
  disown $!
done

# ask queries Patroni's API of a node.
ask() { curl -sS -o /dev/null --fail --max-time 2 "http://127.0.0.1:${api[$1]}/$2" 2>/dev/null; }
primary=
for _ in {1..600}; do
  for node in a b; do
    other=$([[ $node == a ]] && echo b || echo a)
    if ask "$node" primary && ask "$other" synchronous; then
      primary=$node
    fi
  done
  [[ -z $primary ]] || break
  sleep 0.2
done
if [[ -z $primary ]]; then
  echo "the cluster did not come up; the ends of its logs:" >&2
  tail -n 20 "$home/etcd.log" "$home"/?/log >&2
  exit 1
fi
PGPASSWORD=$secret "$binaries/psql" -qX -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "${postgres[$primary]}" -U postgres postgres >&2 <<SQL
CREATE ROLE openintent LOGIN PASSWORD '$secret';
CREATE DATABASE openintent OWNER openintent;
SQL

OPENINTENT_TEST_CLUSTER=$home OPENINTENT_TEST_CLUSTER_SECRET=$secret \
  OPENINTENT_TEST_CLUSTER_NODES="127.0.0.1:${postgres[a]}/127.0.0.1:${api[a]},127.0.0.1:${postgres[b]}/127.0.0.1:${api[b]}" "$@"
