#!/usr/bin/env bash
# Formatting, lints, docs and generated files: everything that can fail without running the product.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

say "formatting"
cargo fmt --all --check

say "lints"
cargo clippy --workspace --all-targets --all-features --locked -- -D warnings

say "docs"
RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --all-features --locked

say "generated files"
cargo test --workspace --all-features --locked --quiet --test generated

say "page"
scripts/install.sh node
scripts/web.sh

if have shellcheck; then
  say "scripts"
  shellcheck -x scripts/*.sh .ci/run
fi
