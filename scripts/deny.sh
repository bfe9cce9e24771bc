#!/usr/bin/env bash
# Licences, sources and banned crates; known vulnerabilities where the advisory database is on this machine.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

if ! scripts/install.sh deny; then
  say "licences: SKIPPED, cargo-deny is not to be had here"
  exit 0
fi
cargo deny --locked check licenses bans sources

# The database is a git repository; where it cannot be fetched an earlier copy serves.
if compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*/crates" >/dev/null; then
  cargo deny --locked --offline check advisories
else
  say "advisories: SKIPPED, no copy of the advisory database (cargo deny fetch makes one)"
fi
