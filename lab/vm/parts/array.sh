# The array: RAID0 over four NVMe disks, given out as one namespace over RDMA on soft RoCE. Sourced by rack-start.
modprobe -a rdma_rxe nvmet nvmet-rdma raid0 ib_uverbs rdma_ucm
ip link set eth1 mtu 9000 up
ip address replace "$ARRAY_ADDRESS/24" dev eth1
rdma link show rxe0/1 >/dev/null 2>&1 || rdma link add rxe0 type rxe netdev eth1
# The connection manager shows and takes its defaults only where somebody made its folder.
mkdir -p /sys/kernel/config/rdma_cm/rxe0
echo "RoCE v2" >/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_mode
echo 106 >/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
udevadm settle

disk() { # SERIAL -> its block device; kernel names change when a disk is pulled and put back
    for controller in /sys/class/nvme/nvme*; do
        [ "$(tr -d ' ' <"$controller/serial")" = "$1" ] || continue
        for block in "$controller"/nvme*n*; do [ -d "$block" ] && echo "/dev/${block##*/}"; done
    done
}
members=""
for serial in $SERIALS; do
    found=$(disk "$serial")
    [ -n "$found" ] || { echo "rack: no disk with serial $serial" >&2; exit 1; }
    members="$members $found"
done
if [ ! -b /dev/md0 ]; then
    # shellcheck disable=SC2086
    mdadm --assemble /dev/md0 $members 2>/dev/null ||
        mdadm --create /dev/md0 --run --level=0 --raid-devices=4 --chunk=512 $members
fi

target=/sys/kernel/config/nvmet
subsystem=$target/subsystems/$NQN
if [ ! -d "$subsystem" ]; then
    mkdir "$subsystem" "$target/hosts/$NODE_HOSTNQN"
    echo 0 >"$subsystem/attr_allow_any_host"
    echo "$ARRAY_SERIAL" >"$subsystem/attr_serial"
    echo "Rack virtual array" >"$subsystem/attr_model"
    ln -s "$target/hosts/$NODE_HOSTNQN" "$subsystem/allowed_hosts/"
    mkdir "$subsystem/namespaces/1"
    echo /dev/md0 >"$subsystem/namespaces/1/device_path"
    echo "$NAMESPACE_UUID" >"$subsystem/namespaces/1/device_uuid"
    echo 1 >"$subsystem/namespaces/1/enable"
fi
if [ ! -d "$target/ports/1" ]; then
    mkdir "$target/ports/1"
    echo ipv4 >"$target/ports/1/addr_adrfam"
    echo rdma >"$target/ports/1/addr_trtype"
    echo "$ARRAY_ADDRESS" >"$target/ports/1/addr_traddr"
    echo 4420 >"$target/ports/1/addr_trsvcid"
    ln -s "$subsystem" "$target/ports/1/subsystems/"
fi
