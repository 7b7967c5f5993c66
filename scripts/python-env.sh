#!/usr/bin/env bash
# Makes a Python environment in .cache, if it is not there yet, and prints the path of its interpreter. The environment is
# .cache/python with the requirements of the end-to-end tests, or another name with other requirements. On Debian the script
# also installs Python's venv module when the module is missing and the caller is root.
#
#   scripts/python-env.sh [NAME REQUIREMENTS]
set -euo pipefail
cd "$(dirname "$0")/.."

# When several callers run this script simultaneously, one installs and the others wait.
mkdir -p .cache
exec 9>.cache/python-env.lock
if command -v flock >/dev/null; then
  flock 9
fi
environment=$PWD/.cache/${1:-python}
requirements=${2:-scripts/python-requirements.txt}
# A copy of the requirements marks a finished environment: an incomplete or outdated one is made again.
finished=$environment/requirements.txt

if ! cmp --silent "$requirements" "$finished"; then
  if ! python3 -c 'import ensurepip, venv' 2>/dev/null && ((EUID == 0)) && command -v apt-get >/dev/null; then
    echo "Python's venv module is missing; installing it." >&2
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >&2
  fi
  if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    echo "Python 3 with its venv module is needed: install it ('apt-get install python3-venv' on Debian)." >&2
    exit 1
  fi
  # One pip installs into all environments, because a pip in each would take longer than many of their packages. Python
  # compiles the modules that are used when they are.
  installer=.cache/python-installer
  if [[ ! -x $installer/bin/pip ]]; then
    rm -rf "$installer"
    python3 -m venv "$installer" >&2
  fi
  rm -rf "$environment"
  python3 -m venv --without-pip "$environment" >&2
  "$installer/bin/pip" --python "$environment/bin/python" install --quiet --disable-pip-version-check --no-compile \
    --requirement "$requirements" >&2
  cp "$requirements" "$finished"
fi
echo "$environment/bin/python"
