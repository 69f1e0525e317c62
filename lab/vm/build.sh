#!/bin/sh
# Builds what both machines boot from into the folder $1: vmlinuz, initrd.cpio, root.qcow2, kernel. Run as root.
# Packages come from where apt of this machine takes them; nothing else is contacted.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
PATH=$PATH:/usr/sbin:/sbin
for tool in mmdebstrap qemu-img mke2fs modprobe cpio busybox; do
    command -v "$tool" >/dev/null || {
        echo "rack: no $tool here; install what lab/vm/packages.txt lists" >&2
        exit 1
    }
done
work=$(mktemp -d "$out/building.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

listed() { grep -v '^#' "$1" | tr '\n' ',' | sed 's/,$//'; }

# The system as its packages install it is kept: what is made of it below takes half a minute.
packages=$(listed "$here/image-packages.txt")
system=$out/system.$(printf %s "$packages" | sha256sum | cut -c1-12)
if [ ! -d "$system" ]; then
    # Only Debian's own archive of the release that runs here; other sources of this machine have no place in the image.
    # shellcheck disable=SC1091
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format "\$(ORIGIN) \$(CODENAME) \$(COMPONENT) \$(REPO_URI) \$(SIGNED_BY)" 'Created-By: Packages' |
        awk -v suite="$suite" '$1 == "Debian" && $3 == "main" && index($2, suite) == 1 {
            signed = $5 ~ /^\// ? "[signed-by=" $5 "] " : ""
            print "deb " signed $4 " " $2 " main"
        }' | sort -u >"$work/sources.list"
    if [ ! -s "$work/sources.list" ]; then
        echo "rack: apt of this machine has no Debian archive for '$suite'; the image can be built on Debian only" >&2
        exit 1
    fi
    # The image is never entered by a person: no manuals. The initrd is made below: packages must not spend minutes on one each.
    mmdebstrap --mode=root --variant=minbase --include="$packages" \
        --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
        --dpkgopt='force-unsafe-io' --dpkgopt='force-confold' \
        --essential-hook='mkdir -p "$1/etc/initramfs-tools" && echo update_initramfs=no >"$1/etc/initramfs-tools/update-initramfs.conf"' \
        --essential-hook='printf "#!/bin/sh\nexit 0\n" >"$1/usr/local/sbin/update-initramfs" && chmod 755 "$1/usr/local/sbin/update-initramfs"' \
        "$suite" "$work/system" "$work/sources.list" >"$out/build.log" 2>&1 || {
        tail -n 30 "$out/build.log" >&2
        exit 1
    }
    rm -rf "$out"/system.* "$work"/system/boot/initrd* "$work"/system/var/cache/apt/* "$work"/system/var/lib/apt/lists/*
    mv "$work/system" "$system"
fi

sh "$here/configure.sh" "$system" "$here/guest"
kernel=$(basename "$(ls -d "$system"/lib/modules/*)")
sh "$here/initrd.sh" "$system" "$kernel" "$work/initrd.cpio"
cp "$system/boot/vmlinuz-$kernel" "$work/vmlinuz"

# 26 GB, nearly all of it holes: the gates want room for the logs of a soak on the root filesystem.
truncate -s 26G "$work/root.raw"
mke2fs -q -F -t ext4 -m 0 -N 100000 -J size=32 -O ^resize_inode,^metadata_csum \
    -E lazy_itable_init=1,lazy_journal_init=1 -d "$system" "$work/root.raw"
qemu-img convert -O qcow2 "$work/root.raw" "$work/root.qcow2"
echo "$kernel" >"$work/kernel"
for file in vmlinuz initrd.cpio root.qcow2 kernel; do mv "$work/$file" "$out/$file"; done
