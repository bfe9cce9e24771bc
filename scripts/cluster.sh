#!/usr/bin/env bash
# Two nodes over a Postgres and a NATS of their own, and one front address, for people to try; it ends what it started.
#
#   PORT=8080 scripts/cluster.sh            until Ctrl-C
#   scripts/cluster.sh COMMAND…             as long as the command runs, which finds PARLOUR_URL and, of each node,
#                                           PARLOUR_TEST_NODE_1 and PARLOUR_TEST_NODE_2
# PARLOUR_BIN names another program than target/release/parlour. Data lies in a temporary folder.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

if [ -z "${PARLOUR_TEST_NATS_URL:-}" ]; then
  scripts/install.sh build postgres nats nginx
  if [ -z "${PARLOUR_BIN:-}" ]; then
    if have_node || scripts/install.sh node; then scripts/web.sh; fi
    cargo build --release --locked -p parlour-server
  fi
  exec scripts/with-postgres.sh scripts/with-nats.sh scripts/cluster.sh "$@"
fi

port=${PORT:-8080}
program=${PARLOUR_BIN:-target/release/parlour}
folder=$(mktemp -d "${TMPDIR:-/tmp}/parlour-cluster.XXXXXX")
nodes=()
front=
stop() {
  trap - EXIT INT TERM HUP
  [ -z "$front" ] || kill "$front" 2>/dev/null || true
  [ "${#nodes[@]}" -eq 0 ] || kill "${nodes[@]}" 2>/dev/null || true
  wait
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Where each node listens; the port is its own choice.
addresses=()
for node in 1 2; do
  : >"$folder/$node.log"
  PARLOUR_TRUSTED_PROXIES=127.0.0.1 PARLOUR_REGISTRATION=open "$program" serve --listen 127.0.0.1:0 \
    --data-dir "$folder/$node" --database-url "$PARLOUR_TEST_POSTGRES_URL" \
    --set "nats_url=$PARLOUR_TEST_NATS_URL" >"$folder/$node.log" 2>&1 &
  nodes+=($!)
  address=
  for _ in $(seq 300); do
    address=$(sed -n 's|^Parlour .* on http://\([0-9.:]*\) .*|\1|p' "$folder/$node.log")
    [ -z "$address" ] || break
    kill -0 "${nodes[-1]}" 2>/dev/null || break
    sleep 0.1
  done
  if [ -z "$address" ]; then
    echo "node $node does not start:" >&2
    cat "$folder/$node.log" >&2
    exit 1
  fi
  addresses+=("$address")
done

cat >"$folder/nginx.conf" <<CONF
daemon off;
pid $folder/nginx.pid;
error_log $folder/nginx.log;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path $folder/body;
  proxy_temp_path $folder/proxy;
  fastcgi_temp_path $folder/fastcgi;
  uwsgi_temp_path $folder/uwsgi;
  scgi_temp_path $folder/scgi;
  client_max_body_size 0;
  upstream nodes {
    least_conn;
    server ${addresses[0]} max_fails=1 fail_timeout=1s;
    server ${addresses[1]} max_fails=1 fail_timeout=1s;
  }
  map \$http_upgrade \$connection_upgrade { default upgrade; '' ''; }
  server {
    listen 127.0.0.1:$port;
    location / {
      proxy_pass http://nodes;
      proxy_http_version 1.1;
      proxy_set_header Host \$http_host;
      proxy_set_header Upgrade \$http_upgrade;
      proxy_set_header Connection \$connection_upgrade;
      proxy_set_header X-Forwarded-For \$remote_addr;
      proxy_set_header X-Forwarded-Proto http;
      proxy_read_timeout 1h;
      proxy_buffering off;
      proxy_next_upstream error timeout http_503;
    }
  }
}
CONF
nginx=$(command -v nginx || echo /usr/sbin/nginx)
"$nginx" -e "$folder/nginx.log" -c "$folder/nginx.conf" &
front=$!
for _ in $(seq 100); do
  (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  if ! kill -0 "$front" 2>/dev/null; then
    echo "the front address does not start; is port $port free? PORT=… names another" >&2
    cat "$folder/nginx.log" >&2
    exit 1
  fi
  sleep 0.1
done

export PARLOUR_URL="http://127.0.0.1:$port" PARLOUR_TEST_NODE_1="http://${addresses[0]}" PARLOUR_TEST_NODE_2="http://${addresses[1]}"
say "Parlour on $PARLOUR_URL, by node 1 (${addresses[0]}, pid ${nodes[0]}) and node 2 (${addresses[1]}, pid ${nodes[1]})"
if [ $# -gt 0 ]; then
  "$@"
else
  say "logs are in $folder; Ctrl-C ends everything"
  wait "$front"
fi
