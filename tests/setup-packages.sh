#!/bin/sh
# Installs the Debian packages of the list $1: those that the tests start. Does nothing where all of them are there.
set -eu
list="${1:-$(dirname "$0")/apt-packages.txt}"
missing=""
for package in $(grep -v '^#' "$list"); do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
echo "kvgate: needed here, from $list:$missing"
if ! command -v apt-get >/dev/null; then
    echo "kvgate: no apt-get here; install their equivalents and try again" >&2
    exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
