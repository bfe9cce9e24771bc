#!/usr/bin/env bash
# Builds the browser page into server/web/dist, from where the server's build embeds it.
# Does nothing where nothing changed since the last build.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

cd server/web
if ! cmp -s package-lock.json node_modules/.installed-lock; then
  say "installing the page's packages"
  npm ci --no-audit --no-fund
  cp package-lock.json node_modules/.installed-lock
fi

changed() {
  [ ! -e dist/index.html ] || [ -n "$(find . \( -path ./node_modules -o -path ./dist \) -prune -o -type f -newer dist/index.html -print -quit)" ]
}
if changed; then
  say "building the page"
  npm run build
fi
