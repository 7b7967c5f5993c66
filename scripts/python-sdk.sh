#!/usr/bin/env bash
# Tests the Python SDK in the environment that sdk/python/requirements-test.txt pins, which is made when it is not there.
#
#   scripts/python-sdk.sh unit         tests what needs no server, and checks types and style
#   scripts/python-sdk.sh scenarios    tells sdk/scenarios on the servers that the environment names (sdk/scenarios/README.md)
#
# Further arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:-}
shift || true
python=$(scripts/python-env.sh python-sdk sdk/python/requirements-test.txt)
cd sdk/python
case $part in
unit)
  "$python" -m ruff check .
  "$python" -m mypy
  exec "$python" -m pytest tests/unit "$@"
  ;;
scenarios)
  exec "$python" -m pytest tests/scenarios "$@"
  ;;
*)
  echo "usage: scripts/python-sdk.sh unit|scenarios [ARGUMENT...]" >&2
  exit 2
  ;;
esac
