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
scripts/generate.sh
if [ -n "$(git status --porcelain -- protocol/generated)" ]; then
  git --no-pager diff --stat -- protocol/generated
  echo "generated files were out of date: commit what \`make generate\` wrote" >&2
  exit 1
fi

if have shellcheck; then
  say "scripts"
  shellcheck -x scripts/*.sh .ci/run
fi
