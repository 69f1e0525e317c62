#!/bin/sh
# CI: the virtual rack in its short form (G1, the timer, a soak of some minutes), where this machine can: else why not, and no failure.
# What the rack says wrongly fails; that a machine has no packages, cannot build or start it in time, or is too slow, does not.
set -u
cd "$(dirname "$0")/.." || exit 1
skip() { echo "rack: skipped: $*"; exit 0; }
timed() { # SECONDS WORDS...
    limit=$1
    shift
    timeout --kill-after=30 "$limit" "$@"
}
[ "$(uname -m)" = x86_64 ] || skip "found a machine of $(uname -m), wanted x86_64"
[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null || skip "neither root nor sudo without a password, which the image is built with"
command -v apt-get >/dev/null || skip "no apt-get, by which qemu and the image are had"
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024) }')
[ "$free" -ge 4000 ] || skip "found $free MB of disk free, wanted 4000"
memory=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
[ "$memory" -ge 5000 ] || skip "found $memory MB of memory free, wanted 5000"
timed 300 make setup-rack || skip "qemu and what lab/vm/packages.txt lists could not be installed within five minutes (status $?; 124 is the time)"
began=$(date +%s)
timed 480 make build/rack/kernel || skip "the image could not be built within eight minutes (status $?; 124 is the time)"
echo "rack: image after $(($(date +%s) - began)) s"
trap 'make rack-down' EXIT
trap 'exit 130' INT TERM
began=$(date +%s)
timed 420 make rack || skip "the machines did not start within seven minutes (status $?; 124 is the time)"
echo "rack: up after $(($(date +%s) - began)) s"
timed 1200 make test-rack-short
status=$?
[ "$status" != 124 ] && [ "$status" != 137 ] || skip "the short form did not end within 20 minutes"
cat var/test-rack/report.md
exit "$status"
