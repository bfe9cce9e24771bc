#!/usr/bin/env bash
# Writes what is generated from the protocol crate: the TypeScript types and the AsyncAPI document.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

cargo run --quiet --locked -p parlour-protocol --features codegen --example generate
