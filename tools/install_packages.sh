#!/bin/sh
# Installs the Debian and Ubuntu packages that building and testing pmemsim needs and that are
# missing. Where it can't, it names them.
set -eu

python=${PYTHON:-python3}
wanted="g++ cmake ninja-build libzstd-dev libfmt-dev nlohmann-json3-dev libxxhash-dev libgtest-dev
        clang-19 clang-format-19 llvm-19-dev libclang-rt-19-dev valgrind"

if ! command -v "$python" >/dev/null; then
  wanted="$wanted python3 python3-dev python3-venv"
else
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "pmemsim needs Python 3.11 or newer; say which with: make PYTHON=/path/to/python3.11" >&2
    exit 2
  }
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
  echo "pmemsim: please have these packages installed (needs root):" \
       "apt-get install$missing" >&2
  exit 2
fi
echo "pmemsim: installing$missing"
# The package lists may be absent or old: refresh them, and go on with what is there if that fails.
$as_root apt-get update -qq || true
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
