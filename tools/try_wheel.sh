#!/bin/sh
# Tries a wheel as a new user would: tools/try_wheel.sh SUITE WHEEL
#
# Makes a root file system of a Debian SUITE (bookworm, trixie) from packages, with Python alone,
# and installs the wheel there. Runs the tour without a compiler, then, with clang 19, g++, cmake
# and make from packages, the tour again and the tutorials on recording a program and writing a
# design. No file of the sources is there, except the script that runs pages of the installed
# documentation. Needs root, and the Debian package mmdebstrap.
set -eu

[ $# = 2 ] || { echo "use: tools/try_wheel.sh SUITE WHEEL" >&2; exit 2; }
suite=$1 wheel=$2
here=$(dirname "$0")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io \
  --include=python3-venv,ca-certificates "$suite" "$root"
# The network as this computer has it.
cp /etc/resolv.conf "$root/etc"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
cp "$wheel" "$here/run_page.py" "$root/root"

# Runs a script there with pmemsim's commands on the PATH.
inside() {
  unshare --mount --pid --fork --root="$root" --mount-proc \
    env -i HOME=/root TERM=dumb PIP_CERT="${PIP_CERT-}" DEBIAN_FRONTEND=noninteractive \
    PATH=/root/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -euc "mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm; cd /root; $1"
}
tutorials='/root/venv/lib/python3*/site-packages/pmemsim/docs/tutorials'

echo "$suite: installing $(basename "$wheel")"
inside 'python3 -m venv venv && pip install --quiet --no-cache-dir ./*.whl && pmemsim --version'
echo "$suite: without a compiler"
inside "python3 run_page.py $tutorials/tour.md"
inside '! pmemsim compare queue --designs np,asap --machine asap'
echo "$suite: with clang 19, g++, cmake and make"
inside 'apt-get update -qq && apt-get install -qq -y --no-install-recommends clang-19 g++ cmake make >/dev/null'
inside "python3 run_page.py $tutorials/tour.md $tutorials/my_program.md $tutorials/my_design.md"
