#!/usr/bin/env bash
# Builds what is missing and serves on the embedded default; the arguments go to `parlour serve`.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

# Without Node the server still runs, and its page says how to build the real one.
if have_node || scripts/install.sh node; then
  scripts/web.sh
else
  say "no Node.js 20 or newer: serving without the browser page"
fi
cargo build --release --locked -p parlour-server
exec target/release/parlour serve "$@"
