#!/usr/bin/env bash
# Checks what is in deploy/, and the image, with the tools that read them. Without arguments it checks everything.
#
#   scripts/check-deploy.sh [chart|alerts|unit|image|systems]...
#   scripts/check-deploy.sh --update    writes deploy/helm/rendered anew
#
# On Debian it fetches promtool if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
update=
if [[ ${1:-} == --update ]]; then
  update=1
  set -- chart
fi
(($#)) || set -- chart alerts unit image systems
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "check-deploy: $*" >&2
  exit 1
}

# refused COMMAND... fails unless the command fails, and shows what it said as one line.
refused() {
  local said
  if said=$("$@" 2>&1); then
    fail "this should have been refused: $*"
  fi
  echo "$said"
}

# The chart: its form, what it makes of two sets of values (deploy/helm/rendered), and values that must be refused.
check_chart() {
  local helm chart=deploy/helm/openintent rendered=deploy/helm/rendered values
  helm=$(go tool -n -modfile=tools/helm/go.mod helm)
  # A helm that was built from source does not know which Kubernetes is current; this is the oldest that the chart allows.
  local kubernetes=(--kube-version "$(sed -n 's/^kubeVersion: ">=\([0-9.]*\).*/\1/p' $chart/Chart.yaml)")
  local needed=(--set database.secretName=openintent-database --set keys.secretName=openintent-keys)
  "$helm" lint --strict --quiet "$chart" "${kubernetes[@]}" "${needed[@]}"
  for values in default full; do
    "$helm" template openintent "$chart" "${kubernetes[@]}" --namespace agents --values "$rendered/$values.values.yaml" >"$work/$values.yaml"
    if [[ -n $update ]]; then
      cp "$work/$values.yaml" "$rendered/$values.yaml"
    fi
    diff --unified "$rendered/$values.yaml" "$work/$values.yaml" ||
      fail "the chart renders otherwise than $rendered/$values.yaml; if that is right: scripts/check-deploy.sh --update"
    go run -C tools/helm ./strict "$work/$values.yaml"
  done
  sed 's/readinessProbe/readynessProbe/' "$work/default.yaml" >"$work/planted.yaml"
  refused go run -C tools/helm ./strict "$work/planted.yaml" | grep -q readynessProbe || fail "a misspelt field was not found"
  for values in keys.secretName= settings.retntion=1h settings.api-keys=secret replicaCount=0 resourcs.x=1 preStopSeconds=0; do
    refused "$helm" template openintent "$chart" "${kubernetes[@]}" "${needed[@]}" --set "$values" >/dev/null
  done
}

find_promtool() {
  promtool=$(command -v promtool || echo .cache/prometheus/usr/bin/promtool)
  [[ -x $promtool ]] && return
  command -v apt-get >/dev/null || fail "promtool is needed: install Prometheus"
  mkdir -p .cache/prometheus
  (cd "$work" && { apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; } >&2)
  dpkg-deb --extract "$work"/prometheus_*.deb .cache/prometheus
}

# The alerts, and the queries of the dashboard, which become rules so that promtool reads them.
check_alerts() {
  find_promtool
  "$promtool" check rules deploy/prometheus/alerts.yaml
  "$promtool" test rules deploy/prometheus/alerts_test.yaml
  python3 - "$work/dashboard.yaml" <<'PYTHON'
import json, sys

panels = json.load(open("deploy/grafana/openintent.json"))["panels"]
queries = [target["expr"] for panel in panels for target in panel["targets"]]
rules = [
    {"record": f"dashboard:query_{i}", "expr": query.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$instance", ".*")}
    for i, query in enumerate(queries)
]
json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, open(sys.argv[1], "w"))
PYTHON
  "$promtool" check rules "$work/dashboard.yaml"
}

# The unit of systemd: that systemd understands it, and how much it lets the program do (0 to 100, at most 15).
check_unit() {
  command -v systemd-analyze >/dev/null || fail "systemd-analyze is needed: install systemd"
  build_static
  sed "s#/usr/local/bin/openintent#$work/openintent#" deploy/systemd/openintent.service >"$work/openintent.service"
  local said
  said=$(systemd-analyze verify --man=no "$work/openintent.service" 2>&1) || fail "$said"
  [[ -z $said ]] || fail "$said"
  systemd-analyze security --offline=true --no-pager --threshold=15 "$work/openintent.service" | tail -n 1
  sed -i 's/^ProtectSystem=.*/ProtectSytem=strict/' "$work/openintent.service"
  systemd-analyze verify --man=no "$work/openintent.service" 2>&1 | grep -q ProtectSytem || fail "a misspelt setting was not found"
}

build_static() {
  [[ -x $work/openintent ]] || CGO_ENABLED=0 go build -trimpath -o "$work/openintent" ./cmd/openintent
}

# The image, as far as that goes without Docker: its program in an empty root that nobody may write, as the image's user.
check_image() {
  build_static
  scripts/run-image.sh "$work/openintent"
}

# The program compiles for each system of a release.
check_systems() {
  local target
  for target in linux/arm64 darwin/arm64 windows/amd64; do
    CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go build -o /dev/null ./cmd/openintent
    echo "$target compiles"
  done
}

for part; do
  declare -F "check_$part" >/dev/null || fail "there is no part $part; there are chart, alerts, unit, image, systems"
  echo "== $part"
  "check_$part"
done
