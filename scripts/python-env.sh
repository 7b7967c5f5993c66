#!/usr/bin/env bash
# Makes the Python environment of the end-to-end tests in .cache/python, if it is not there yet, and prints the path of
# its interpreter. On Debian, Python's venv module is installed when it is missing and the caller is root.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=scripts/python-requirements.txt
environment=$PWD/.cache/python
# A copy of the requirements marks a finished environment: a half-made or outdated one is made anew.
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
  rm -rf "$environment"
  python3 -m venv "$environment" >&2
  "$environment/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements" >&2
  cp "$requirements" "$finished"
fi
echo "$environment/bin/python"
