#!/bin/sh
# CI: the virtual rack in its short form (G1, a timer, a soak of two minutes), where this machine can: else why not, and no failure.
# What the rack says wrongly twice fails; that a machine has no packages, cannot build or start it in time, or is too slow, does not.
# The first word, if any, is when all of it is over, in seconds since the epoch: no step runs beyond that.
set -u
cd "$(dirname "$0")/.." || exit 1
skip() { echo "rack: skipped: $*"; exit 0; }
END=60 # seconds that ending the machines may take
timed() { # SECONDS WORDS...; what is left until the end of CI if that is less
    limit=$1
    shift
    left=$((over - END - $(date +%s)))
    [ "$limit" -le "$left" ] || limit=$left
    [ "$limit" -gt 0 ] || return 124
    timeout --kill-after=30 "$limit" "$@"
}
took() { echo "rack: $1 after $(($(date +%s) - began)) s"; }
over=${1:-$(($(date +%s) + 3600))}
left=$((over - $(date +%s)))
[ "$left" -ge 900 ] || skip "found $left s of CI's time left, wanted 900"
[ "$(uname -m)" = x86_64 ] || skip "found a machine of $(uname -m), wanted x86_64"
[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null || skip "neither root nor sudo without a password, which the image is built with"
command -v apt-get >/dev/null || skip "no apt-get, by which qemu and the image are had"
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024) }')
[ "$free" -ge 4000 ] || skip "found $free MB of disk free, wanted 4000"
memory=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
[ "$memory" -ge 5000 ] || skip "found $memory MB of memory free, wanted 5000"
began=$(date +%s)
timed 300 make setup-rack || skip "qemu and what lab/vm/packages.txt lists could not be installed in time (status $?; 124 is the time)"
took packages
timed 480 make build/rack/kernel || skip "the image could not be built in time (status $?; 124 is the time)"
took image
trap 'make rack-down' EXIT
trap 'exit 130' INT TERM
timed 420 make rack || skip "the machines did not start in time (status $?; 124 is the time)"
took machines
late() { [ "$1" = 124 ] || [ "$1" = 137 ]; }
timed 1200 make test-rack-short
status=$?
took tests
if [ "$status" != 0 ] && ! late "$status"; then
    echo "rack: once more what did not pass: emulated machines may stand still at any moment, and what is wrong is so twice"
    timed 720 make test-rack-short RESUME=1
    again=$?
    took "tests once more"
    late "$again" || status=$again # without time for a second look the first one counts
fi
! late "$status" || skip "the short form did not end in time"
cat var/test-rack/report.md
exit "$status"
