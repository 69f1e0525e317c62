# The node: one local NVMe disk, and the array's namespace over RDMA on soft RoCE, each with an XFS. Sourced by rack-start.
modprobe -a rdma_rxe nvme-rdma xfs ib_uverbs rdma_ucm
ip link set eth1 mtu 9000 up
ip address replace "$NODE_ADDRESS/24" dev eth1
rdma link show rxe0/1 >/dev/null 2>&1 || rdma link add rxe0 type rxe netdev eth1
# The connection manager shows and takes its defaults only where somebody made its folder.
mkdir -p /sys/kernel/config/rdma_cm/rxe0
echo "RoCE v2" >/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_mode
echo 106 >/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos
mkdir -p /etc/nvme
echo "$NODE_HOSTNQN" >/etc/nvme/hostnqn
echo "${NODE_HOSTNQN##*:}" >/etc/nvme/hostid
udevadm settle

namespace() { # SERIAL or NQN -> its block device; with native multipath that is a child of the subsystem
    for subsystem in /sys/class/nvme-subsystem/*; do
        for controller in "$subsystem"/nvme[0-9]*; do
            [ -f "$controller/serial" ] || continue
            [ "$(tr -d ' ' <"$controller/serial")" = "$1" ] || [ "$(cat "$controller/subsysnqn")" = "$1" ] || continue
            for block in "$subsystem"/nvme*n* "$controller"/nvme*n*; do
                [ -b "/dev/${block##*/}" ] && { echo "/dev/${block##*/}"; return; }
            done
        done
    done
}
volume() { # DEVICE MOUNT GEOMETRY...: an XFS on it, made once
    device=$1 mount=$2
    shift 2
    [ "$(blkid -s TYPE -o value "$device" || true)" = xfs ] || mkfs.xfs -q -K "$@" "$device"
    mountpoint -q "$mount" || mount -o noatime "$device" "$mount"
}
volume "$(namespace "$SERIALS")" /mnt/nvme0

tries=0
until [ -n "$(namespace "$NQN")" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || { echo "rack: the array gives out no $NQN" >&2; exit 1; }
    nvme connect --transport=rdma --traddr="$ARRAY_ADDRESS" --trsvcid=4420 --nqn="$NQN" --nr-io-queues=2 \
        --keep-alive-tmo=30 --reconnect-delay=10 --ctrl-loss-tmo=600 || sleep 3
    udevadm settle
done
for controller in /sys/class/nvme/nvme*; do # nvme-cli 2.3 has no option for it
    [ "$(cat "$controller/subsysnqn")" = "$NQN" ] && echo 60 >"$controller/fast_io_fail_tmo"
done
volume "$(namespace "$NQN")" /mnt/fx100 -d su=512k,sw=4
. "$given/engine/raw" # what it serves
