#!/usr/bin/env bash
# The load suite against a release build of the server; the arguments go to `parlour-load run`.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

cargo build --release --locked -p parlour-server -p parlour-load
exec target/release/parlour-load run "$@"
