#!/usr/bin/env bash
# Every test there is, beside the services they need; a failure is kept for the end, so that one run shows them all.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

# Each step has a process group of its own, so that a signal to this script ends everything below it at once.
child=
stop() {
  [ -z "$child" ] || kill -TERM -- "-$child" 2>/dev/null || true
  wait
  exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' TERM HUP

failed=()
step() {
  local title=$1 began=$SECONDS
  shift
  say "$title"
  set -m
  "$@" </dev/null &
  child=$!
  set +m
  if wait "$child"; then
    say "$title: passed in $((SECONDS - began)) s"
  else
    say "$title: FAILED after $((SECONDS - began)) s"
    failed+=("$title")
  fi
}

scripts/install.sh build node postgres azurite nats service_bus chromium openssl strace
rust_tests=(cargo nextest run --workspace --all-features --locked)
if ! scripts/install.sh nextest; then
  rust_tests=(cargo test --workspace --all-features --locked --no-fail-fast --lib --bins --tests --examples)
fi

# What is missing is a failure here; a plain `cargo test` skips its suites.
export PARLOUR_TEST_REQUIRE_POSTGRES=1 PARLOUR_TEST_REQUIRE_AZURITE=1 PARLOUR_TEST_REQUIRE_SERVER=1
export PARLOUR_TEST_REQUIRE_SERVICE_BUS=1 PARLOUR_TEST_REQUIRE_NATS=1

scripts/web.sh
step "build" cargo build --workspace --all-features --bins --examples --locked
step "Rust tests" scripts/with-postgres.sh scripts/with-azurite.sh scripts/with-nats.sh "${rust_tests[@]}"
# What users see must not depend on the database.
acceptance_on_postgres() {
  # shellcheck disable=SC2016 # the inner shell expands it
  scripts/with-postgres.sh bash -c 'PARLOUR_TEST_DATABASE_URL="$PARLOUR_TEST_POSTGRES_URL" exec "$@"' _ "$@"
}
step "acceptance on Postgres" acceptance_on_postgres scripts/with-azurite.sh "${rust_tests[@]}" --test acceptance
step "doctests" cargo test --workspace --all-features --doc --locked
step "kill -9 under load" target/debug/parlour-load crash --server-bin target/debug/parlour --rounds 4
step "page, unit tests" npm --prefix server/web test
step "page, in Chromium" npm --prefix server/web run e2e

if [ "${#failed[@]}" -gt 0 ]; then
  say "failed: $(printf '%s; ' "${failed[@]}")"
  exit 1
fi
say "all tests passed in $SECONDS s"
