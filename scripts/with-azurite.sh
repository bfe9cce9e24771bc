#!/usr/bin/env bash
# Runs a command beside a private Azurite, the emulator of Azure's storage, that ends with it:
# scripts/with-azurite.sh COMMAND… finds its connection string in PARLOUR_TEST_AZURITE (blobs and tables, in memory).
#
#   scripts/with-azurite.sh cargo nextest run --workspace --all-features --lib -E 'test(azure)'
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

program="$PWD/.tools/azurite/node_modules/azurite/dist/src/azurite.js"
if ! have_node || [ ! -e "$program" ]; then
  echo "Azurite is not installed: scripts/install.sh node azurite" >&2
  exit 1
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/parlour-azurite.XXXXXX")
azurite=
stop() {
  if [ -n "$azurite" ]; then
    kill "$azurite" 2>/dev/null || true
    wait "$azurite" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Without --loose, so that a header that the real service would refuse is refused here.
start() {
  (cd "$folder" && exec node "$program" --silent --inMemoryPersistence --skipApiVersionCheck --disableTelemetry \
    --disableProductStyleUrl --blobHost 127.0.0.1 --blobPort "$1" --queueHost 127.0.0.1 --queuePort "$(($1 + 1))" \
    --tableHost 127.0.0.1 --tablePort "$(($1 + 2))") >"$folder/log" 2>&1 &
  azurite=$!
  local try
  for try in $(seq 300); do
    kill -0 "$azurite" 2>/dev/null || return 1
    if answers "$1" && answers "$(($1 + 2))"; then
      # The ports may be another's, who had them first: then this one ends.
      sleep 0.2
      kill -0 "$azurite" 2>/dev/null && return 0
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
    echo "Azurite does not start:" >&2
    tail -n 20 "$folder/log" >&2
    exit 1
  fi
  kill "$azurite" 2>/dev/null || true
done

# The account and the key are the emulator's own, the same everywhere.
key='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
PARLOUR_TEST_AZURITE="DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=$key"
PARLOUR_TEST_AZURITE+=";BlobEndpoint=http://127.0.0.1:$port/devstoreaccount1"
PARLOUR_TEST_AZURITE+=";TableEndpoint=http://127.0.0.1:$((port + 2))/devstoreaccount1;"
export PARLOUR_TEST_AZURITE
"$@"
