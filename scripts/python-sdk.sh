#!/usr/bin/env bash
# Tests the Python SDK in the environment that sdk/python/requirements-test.txt pins. The script makes it if necessary.
#
#   scripts/python-sdk.sh unit         runs the tests that need no server, and checks types and style
#   scripts/python-sdk.sh scenarios    runs sdk/scenarios on the servers that the environment names (sdk/scenarios/README.md)
#   scripts/python-sdk.sh kit          tests the test kit, with the program that OPENINTENT_PROGRAM names
#   scripts/python-sdk.sh examples     runs the tests of the examples, with the same program
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
kit)
  exec "$python" -m pytest tests/kit "$@"
  ;;
examples)
  PYTHONPATH=src exec "$python" -m pytest --rootdir ../../examples/clarification/python -p no:cacheprovider \
    ../../examples/clarification/python "$@"
  ;;
*)
  echo "usage: scripts/python-sdk.sh unit|scenarios|kit|examples [ARGUMENT...]" >&2
  exit 2
  ;;
esac
