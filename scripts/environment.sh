# shellcheck shell=bash
# Sourced by the other scripts: the root folder, where things are, and how to speak.
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
export CARGO_TARGET_DIR="$PWD/target"
export PATH="$PWD/.tools/bin:$PATH"

say() { printf '\n==> %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# Vite needs Node 20.19 or newer; Debian 12 has 18.
have_node() {
  have node && have npm && printf '%s\n' 20.19.0 "$(node -p process.versions.node)" | sort --version-sort --check=quiet
}

# The folder of Postgres' server programs, which Debian keeps off PATH.
postgres_bin() {
  local folder
  for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -Vr) "$(dirname "$(command -v initdb || echo /none/initdb)")"; do
    if [ -x "$folder/initdb" ]; then
      printf '%s\n' "$folder"
      return
    fi
  done
  return 1
}
