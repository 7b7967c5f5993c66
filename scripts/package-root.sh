#!/usr/bin/env bash
# Installs a .deb in a new Debian, starts the server as the unit of systemd does, upgrades, removes and purges it, and checks what stays each
# time. systemd does not run there, so the second time a program takes its place that notes how it is called.
#
#   scripts/package-root.sh OLDER_DEB NEWER_DEB
set -euo pipefail
if (($# != 2)); then
  echo "usage: scripts/package-root.sh OLDER_DEB NEWER_DEB" >&2
  exit 2
fi
if ((EUID != 0)); then
  echo "package-root: only root can make another root file system" >&2
  exit 1
fi
# Processes of its own, so that none of them is left.
if [[ -z ${OPENINTENT_IN_ROOT:-} ]]; then
  OPENINTENT_IN_ROOT=1 exec unshare --mount --pid --fork --mount-proc --kill-child "$0" "$@"
fi
older=$(realpath "$1") newer=$(realpath "$2")
cd "$(dirname "$0")/.."
mkdir -p .cache
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

# A new Debian takes a minute, so it is kept as it came.
kept=$PWD/.cache/debian-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release).tar
if [[ ! -f $kept ]]; then
  mmdebstrap --quiet --variant=apt "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" "$work/debian.tar" >&2
  mv "$work/debian.tar" "$kept"
fi
mkdir "$root"
tar --extract --file "$kept" --directory "$root"
cp "$older" "$root/older.deb"
cp "$newer" "$root/newer.deb"

fail() {
  echo "package-root: $*" >&2
  exit 1
}
# Without this, the shell that sets environments and paths would be the host's.
inside() { env --ignore-environment PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"; }
install() { inside apt-get install --quiet=2 --no-install-recommends "$1" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }; }
mode_is() { # PATH MODE:USER:GROUP
  local found
  found=$(inside stat --format %a:%U:%G "$1")
  [[ $found == "$2" ]] || fail "$1 is $found, and should be $2"
}
there() { [[ -e $root$1 ]] || fail "$1 is missing"; }
gone() { [[ ! -e $root$1 ]] || fail "$1 is still there"; }
said() { sed -n "s/^$1=//p" "$root/usr/lib/systemd/system/openintent.service"; }

# serves starts the server as the unit does, asks whether it is ready, and stops it.
serves() {
  local server healthy=
  rm -f "$root/var/lib/openintent/ready.json"
  # shellcheck disable=SC2016,SC2046 # the inner shell expands them; ExecStart is several words
  env --ignore-environment PATH=/usr/sbin:/usr/bin chroot --userspec="$(said User):$(said User)" "$root" sh -c 'umask "$1" && cd "$2" && shift 2 && exec "$@"' sh \
    "$(said UMask)" "$(said WorkingDirectory)" $(said ExecStart) 2>"$work/log" &
  server=$!
  for _ in $(seq 600); do
    if [[ -s $root/var/lib/openintent/ready.json ]]; then
      healthy=$(inside openintent health "$(sed 's/.*"http":"\([^"]*\)".*/\1/' "$root/var/lib/openintent/ready.json")")
      break
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  kill -TERM "$server" 2>/dev/null || true
  wait "$server" || { cat "$work/log" >&2; exit 1; }
  [[ $healthy == ready ]] || { cat "$work/log" >&2; fail "the server was not ready"; }
  mode_is /var/lib/openintent/openintent.db 600:openintent:openintent
}

install /older.deb
mode_is /etc/openintent 750:root:openintent
mode_is /etc/openintent/settings.yaml 640:root:openintent
mode_is /var/lib/openintent 700:openintent:openintent
[[ $(inside getent passwd openintent | cut -d : -f 6,7) == /var/lib/openintent:/usr/sbin/nologin ]] || fail "the user is another one"
printf 'http-addr: 127.0.0.1:0\ngrpc-addr: 127.0.0.1:0\nready-file: /var/lib/openintent/ready.json\n' >>"$root/etc/openintent/settings.yaml"
cp "$root/etc/openintent/settings.yaml" "$work/settings.yaml"
serves
echo "Installed: the server starts as its user, with its settings."

install /newer.deb
# shellcheck disable=SC2016 # dpkg-query fills it in
[[ $(inside dpkg-query --show --showformat '${Version}' openintent) == "$(dpkg-deb --field "$newer" Version)" ]] || fail "the upgrade has not changed the version"
cmp "$work/settings.yaml" "$root/etc/openintent/settings.yaml"
mode_is /etc/openintent/settings.yaml 640:root:openintent
serves
echo "Upgraded: the changed settings and the data are there, and the server starts."

inside apt-get remove --quiet=2 openintent >/dev/null 2>&1
gone /usr/bin/openintent
there /etc/openintent/settings.yaml
there /var/lib/openintent/openintent.db
install /newer.deb
cmp "$work/settings.yaml" "$root/etc/openintent/settings.yaml"
echo "Removed and installed again: settings and data have stayed."

touch "$root/etc/openintent/keys.yaml"
inside apt-get purge --quiet=2 openintent >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
gone /etc/openintent
gone /var/lib/openintent
[[ -z $(inside find / -xdev -name '*openintent*' -not -path '/var/log/*' -not -path '/var/cache/*') ]] || fail "the purge has left something"
inside getent passwd openintent >/dev/null || fail "the user is gone, though files elsewhere may be its"
echo "Purged: settings, keys and data are gone, and the user is there."

mkdir -p "$root/run/systemd/system"
printf '#!/bin/sh\necho "$*" >>/systemctl.log\n' >"$root/usr/bin/systemctl"
chmod +x "$root/usr/bin/systemctl"
called() { # SENTENCE CALL...
  local what=$1
  shift
  diff <(printf '%s\n' "$@") "$root/systemctl.log" || fail "$what calls systemctl otherwise"
  rm "$root/systemctl.log"
}
install /older.deb
called "an installation" daemon-reload
install /newer.deb
called "an upgrade" daemon-reload daemon-reload "try-restart openintent.service"
inside apt-get purge --quiet=2 openintent >/dev/null 2>&1
called "a purge" "--quiet disable --now openintent.service" daemon-reload daemon-reload
echo "With systemd: an installation starts nothing, an upgrade restarts what runs, a removal stops it."
