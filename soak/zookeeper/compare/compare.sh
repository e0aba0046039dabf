#!/usr/bin/env bash
# ephemeral in a closed loop on three real servers with their data in memory: nightshift beside a bare loop of
# the same library in alternating pairs, then kazoo and the Java client. Prints updates a second and processor
# time per update. Needs Go, a JDK and Maven; kazoo is left out when Python does not have it.
set -euo pipefail
cd "$(dirname "$0")/../../.."
pairs=${PAIRS:-10} sessions=16 updates=20000 size=1024

dir=$(mktemp -d /dev/shm/nightshift-compare.XXXXXX)
export XDG_STATE_HOME=$dir/state
go build -o "$dir/nightshift" ./cmd/nightshift
finish() {
  "$dir/nightshift" lab down --name compare >/dev/null 2>&1 || true
  rm -rf "$dir"
}
trap finish EXIT
"$dir/nightshift" lab up --detach --name compare
servers=$("$dir/nightshift" lab status --name compare --json | python3 -c 'import json,sys; print(",".join(n["addrs"][0] for n in json.load(sys.stdin)["nodes"]))')

echo "== nightshift beside a bare loop, $pairs alternating pairs, $sessions sessions, $size bytes"
NIGHTSHIFT_ZOOKEEPER=$servers go test -run '^$' -bench EphemeralBesideABareLoop -benchtime "${pairs}x" -timeout 30m ./soak/zookeeper

echo "== other clients"
if python3 -c 'import kazoo' 2>/dev/null; then
  python3 soak/zookeeper/compare/loop.py "$servers" "$sessions" "$updates" "$size"
else
  echo "kazoo       left out: pip install kazoo"
fi
jars=$(find "${XDG_CACHE_HOME:-$HOME/.cache}/nightshift" -name 'zookeeper-3*.jar' ! -name '*jute*' -print -quit)
cp=$(dirname "$jars")
javac -cp "$cp/*" -d "$dir" soak/zookeeper/compare/Loop.java
java -Dlogback.configurationFile=/dev/null -Dzookeeper.disableAutoWatchReset=false -cp "$dir:$cp/*" Loop "$servers" "$sessions" "$updates" "$size" 2>/dev/null | grep updates
