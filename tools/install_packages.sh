#!/bin/sh
# Installs the Debian and Ubuntu packages that building and testing pmemsim needs and that are
# missing. Where it can't, it names them.
set -eu

python=${PYTHON:-python3}
wanted="g++ cmake ninja-build libzstd-dev libfmt-dev nlohmann-json3-dev libxxhash-dev libssl-dev
        libgtest-dev clang-19 clang-format-19 clang-tidy-19 llvm-19-dev libclang-rt-19-dev valgrind
        autoconf automake meson zsh"

refuse() {
  echo "pmemsim: $*" >&2
  exit 2
}

if ! command -v "$python" >/dev/null; then
  [ "$python" = python3 ] || refuse "there is no Python at $python, which PYTHON names"
  wanted="$wanted python3 python3-dev python3-venv"
else
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    refuse "Python 3.11 or newer is needed; say which with: make PYTHON=/path/to/python3.11"
  "$python" -c 'import venv, ensurepip' 2>/dev/null || wanted="$wanted python3-venv"
  "$python" -c 'import os, sysconfig as s, sys
sys.exit(not os.path.exists(os.path.join(s.get_path("include"), "Python.h")))' ||
    wanted="$wanted python3-dev"
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "pmemsim: this is not Debian or Ubuntu, so nothing is installed for you; it needs what these" \
       "packages hold:" $wanted >&2
  exit 0
fi

missing=
for package in $wanted; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null; then
  as_root=sudo
else
  refuse "packages are missing, and installing them needs root; as root: apt-get install$missing"
fi
echo "pmemsim: installing$missing"
# The package lists may be absent or old: refresh them, and go on with what is there if that fails.
$as_root apt-get update -qq || true

unknown=
for package in $missing; do
  apt-cache show "$package" >/dev/null 2>&1 || unknown="$unknown $package"
done
# Debian 12 and Ubuntu 24.04 got clang 19 after their release; Ubuntu has it in `universe`.
[ -z "$unknown" ] ||
  refuse "apt doesn't know$unknown; pmemsim needs Debian 12 or Ubuntu 24.04 (or newer) with their" \
         "updates enabled, on Ubuntu also universe: add-apt-repository universe"

# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing ||
  refuse "apt-get could not install the packages; its messages above say why; then run make again"
