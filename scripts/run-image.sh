#!/usr/bin/env bash
# Runs a built program as the image of the Dockerfile does, without Docker: in a root that holds nothing but the program and /data and
# cannot be written, as the image's user, with the image's variables and commands. The program must become healthy by the image's
# HEALTHCHECK, refuse to start without keys, and stop in time.
#
#   scripts/run-image.sh PROGRAM
set -euo pipefail
if (($# != 1)); then
  echo "usage: scripts/run-image.sh PROGRAM" >&2
  exit 2
fi
if ((EUID != 0)); then
  echo "run-image: only root can make another root file system" >&2
  exit 1
fi
# Mounts and ports of its own, so that it can listen where the image does.
if [[ -z ${OPENINTENT_IN_IMAGE:-} ]]; then
  OPENINTENT_IN_IMAGE=1 exec unshare --mount --net "$0" "$@"
fi
ip link set lo up
program=$(realpath "$1")
cd "$(dirname "$0")/.."

# said INSTRUCTION prints the arguments of an instruction of the image's last stage, with continued lines as one.
said() { sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' Dockerfile | sed -n '/^FROM scratch/,$p' | sed -n "s/^$1 //p"; }
user=$(said USER)
healthcheck=$(said HEALTHCHECK | sed 's/.*CMD \[\(.*\)\]/\1/' | tr -d '",')
read -r -a variables <<<"$(said ENV)"
command=$(tr -d '[]",' <<<"$(said ENTRYPOINT) $(said CMD)")

root=$(mktemp -d)
trap 'umount "$root/data" "$root"; rmdir "$root"' EXIT
mount -t tmpfs -o mode=0755 image "$root"
mkdir -m 0700 "$root/data"
cp "$program" "$root/openintent"
chmod 0755 "$root/openintent"
mount -t tmpfs -o "mode=0700,uid=${user%:*},gid=${user#*:}" data "$root/data"
mount -o remount,ro "$root"

inside() { # VARIABLE=VALUE... COMMAND...
  env --ignore-environment "${variables[@]}" "$@"
}
in_image="$(PATH=$PATH:/usr/sbin command -v chroot) --userspec=$user $root"

# shellcheck disable=SC2086 # these are words
if refusal=$(inside $in_image $command 2>&1); then
  echo "run-image: without keys the image started" >&2
  exit 1
fi
grep -q 'no API keys are configured' <<<"$refusal" || { echo "$refusal" >&2; exit 1; }

log=$(mktemp)
# shellcheck disable=SC2086
(exec env --ignore-environment "${variables[@]}" OPENINTENT_API_KEYS=mine $in_image $command 2>"$log") &
server=$!
healthy=
for _ in $(seq 200); do
  # shellcheck disable=SC2086
  if inside $in_image $healthcheck >/dev/null 2>&1; then
    healthy=1
    break
  fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
uid=$(stat --format %u "/proc/$server" 2>/dev/null || true)
kill -TERM "$server" 2>/dev/null || true
wait "$server" || { cat "$log" >&2; exit 1; }
if [[ -z $healthy || $uid != "${user%:*}" || ! -s $root/data/openintent.db ]]; then
  echo "run-image: the program was not healthy as user ${user%:*} (it ran as ${uid:-nobody}); its log:" >&2
  cat "$log" >&2
  exit 1
fi
# shellcheck disable=SC2086
if inside $in_image $healthcheck >/dev/null 2>&1; then
  echo "run-image: the HEALTHCHECK finds a server that has stopped healthy" >&2
  exit 1
fi
rm "$log"
echo "The image's program starts, is healthy, keeps its data and stops, as user $user on a read-only root."
