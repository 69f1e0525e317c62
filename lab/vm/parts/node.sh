# The node: one local NVMe disk, and the array's namespace over RDMA on soft RoCE, each with an XFS. Sourced by rack-start.
modprobe -a rdma_rxe nvme-rdma xfs ib_uverbs rdma_ucm
ip link set eth1 mtu 9000 up
ip address replace "$NODE_ADDRESS/24" dev eth1
rdma link show rxe0/1 >/dev/null 2>&1 || rdma link add rxe0 type rxe netdev eth1
mkdir -p /etc/nvme
echo "$NODE_HOSTNQN" >/etc/nvme/hostnqn
echo "${NODE_HOSTNQN##*:}" >/etc/nvme/hostid
udevadm settle

namespace() { # SERIAL or NQN -> its first block device
    for controller in /sys/class/nvme/nvme*; do
        serial=$(tr -d ' ' <"$controller/serial")
        [ "$serial" = "$1" ] || [ "$(cat "$controller/subsysnqn")" = "$1" ] || continue
        instance=${controller##*/nvme}
        for block in /sys/class/nvme-subsystem/*/"nvme$instance"/../nvme*n* /sys/class/nvme/"nvme$instance"/nvme*n*; do
            name=${block##*/}
            [ -b "/dev/$name" ] && { echo "/dev/$name"; return; }
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
        --keep-alive-tmo=30 --reconnect-delay=10 --ctrl-loss-tmo=600 --fast_io_fail_tmo=60 || sleep 3
    udevadm settle
done
volume "$(namespace "$NQN")" /mnt/fx100 -d su=512k,sw=4
