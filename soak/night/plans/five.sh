#!/usr/bin/env bash
# The quickstart RUNS times (5). Each has to pass; prints one line a run.
set -euo pipefail
cd "$(dirname "$0")/../../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/nightshift" ./cmd/nightshift
bad=0
for i in $(seq "${RUNS:-5}"); do
  start=$SECONDS code=0
  "$dir/nightshift" run quickstart --quiet --out "$dir/run$i" >"$dir/out$i" 2>&1 || code=$?
  echo "run $i: exit $code, $(grep -m1 -E '^(PASS|FAIL|INCONCLUSIVE|ABORTED)' "$dir/out$i"), $((SECONDS - start)) s"
  if ((code)); then
    bad=1
    cat "$dir/out$i"
  fi
done
exit $bad
