#!/bin/sh
# initrd.sh ROOT KERNEL FILE: the smallest initrd that finds an ext4 root on a virtio disk. Three seconds under emulation.
set -eu
root=$1 kernel=$2 file=$3
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/bin" "$tree/modules" "$tree/dev" "$tree/proc" "$tree/root"
cp "$(command -v busybox)" "$tree/bin/busybox"
if ldd "$tree/bin/busybox" >/dev/null 2>&1; then # it would start nothing: the initrd has no libraries
    echo "rack: found busybox that needs libraries, wanted a static one: install busybox-static" >&2
    exit 1
fi
# One number a module keeps the order that modprobe would load them in.
modprobe -d "$root" -S "$kernel" --show-depends -a virtio_pci virtio_blk crc32c_generic ext4 |
    awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$tree/order"
number=100
while read -r module; do
    number=$((number + 1))
    case $module in
    *.xz) xz -dc "$module" >"$tree/modules/$number.ko" ;;
    *) cp "$module" "$tree/modules/$number.ko" ;;
    esac
done <"$tree/order"
cat >"$tree/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t proc proc /proc
if /bin/busybox grep -q rack.probe /proc/cmdline; then
    echo "rack: a kernel runs" >/dev/console
    /bin/busybox poweroff -f
fi
for module in /modules/*.ko; do /bin/busybox insmod "$module"; done
while [ ! -b /dev/vda ]; do /bin/busybox sleep 0.1; done
/bin/busybox mount -t ext4 -o noatime,noinit_itable /dev/vda /root
/bin/busybox umount /proc
/bin/busybox umount /dev
exec /bin/busybox switch_root /root /sbin/init
INIT
chmod 755 "$tree/init"
rm "$tree/order"
(cd "$tree" && find . | cpio --quiet -o -H newc) >"$file"
