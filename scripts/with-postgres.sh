#!/usr/bin/env bash
# Runs a command beside a private Postgres that ends with it: scripts/with-postgres.sh COMMAND…
# The command finds the address in PARLOUR_TEST_POSTGRES_URL; data lies in a temporary folder, without fsync unless
# --durable comes first. PARLOUR_TEST_POSTGRES_RESTART is a program that kills this Postgres and starts it again.
#
#   scripts/with-postgres.sh cargo nextest run -p parlour-server conformance
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

safety='-c fsync=off -c synchronous_commit=off -c full_page_writes=off'
if [ "${1-}" = --durable ]; then
  safety=
  shift
fi

if ! bin=$(postgres_bin); then
  echo "Postgres is not installed: scripts/install.sh postgres" >&2
  exit 1
fi

# Postgres refuses to run as root.
as_postgres() {
  if [ "$(id -u)" -eq 0 ]; then
    (cd / && runuser -u postgres -- "$@")
  else
    "$@"
  fi
}

folder=$(mktemp -d "${TMPDIR:-/tmp}/parlour-postgres.XXXXXX")
stop() {
  as_postgres "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

[ "$(id -u)" -ne 0 ] || chown postgres "$folder"
as_postgres "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$folder/initdb.log" || {
  cat "$folder/initdb.log" >&2
  exit 1
}

start() {
  as_postgres "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 60 -o "-p $1 \
    -c listen_addresses=127.0.0.1 -c unix_socket_directories=$folder -c max_connections=400 $safety" start >/dev/null 2>&1
}

# A port taken in the meantime is another try, not a failure.
for attempt in 1 2 3 4 5; do
  port=$((20000 + RANDOM % 12000))
  if start "$port"; then
    break
  elif [ "$attempt" -eq 5 ]; then
    echo "Postgres does not start:" >&2
    tail -n 20 "$folder/log" >&2
    exit 1
  fi
done

# With the options of its start.
cat >"$folder/restart" <<EOF
#!/usr/bin/env bash
set -euo pipefail
cd /
restart=("$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -m immediate -w -t 60 restart)
[ "\$(id -u)" -ne 0 ] || restart=(runuser -u postgres -- "\${restart[@]}")
exec "\${restart[@]}" >/dev/null 2>&1
EOF
chmod +x "$folder/restart"

export PARLOUR_TEST_POSTGRES_RESTART="$folder/restart"
export PARLOUR_TEST_POSTGRES_URL="postgres://postgres@127.0.0.1:$port/postgres"
"$@"
