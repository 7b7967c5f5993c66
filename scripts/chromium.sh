#!/usr/bin/env bash
# Prints the path of a Chromium or Chrome for tests that look at pages. On Debian the script installs Chromium when it is missing and the caller
# is root.
#
#   scripts/chromium.sh
set -euo pipefail

# find prints the path of the first browser that is there, or fails.
find_browser() {
  local name
  for name in "${OPENINTENT_TEST_CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable \
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
    if [[ -n $name ]] && command -v "$name"; then
      return 0
    fi
  done
  return 1
}

if ! find_browser; then
  if ((EUID == 0)) && command -v apt-get >/dev/null; then
    echo "Chromium is missing; installing it." >&2
    apt-get update -qq >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >&2
  fi
  if ! find_browser; then
    echo "Chromium is needed: install it ('apt-get install chromium' on Debian), or set OPENINTENT_TEST_CHROMIUM to the path of a browser" \
      "that is built on it." >&2
    exit 1
  fi
fi
