#!/bin/sh
# configure.sh ROOT GUEST: makes the fresh system in ROOT one that starts fast and takes its part from the outside.
set -eu
root=$1 guest=$2
install -m 755 "$guest/rack-net" "$guest/rack-start" "$root/usr/local/sbin/"
install -m 644 "$guest/rack-net.service" "$guest/rack.service" "$root/etc/systemd/system/"

# What costs minutes under emulation and does nothing here.
for unit in e2scrub_reap.service e2scrub_all.timer nvmf-autoconnect.service nvmefc-boot-connections.service \
    systemd-networkd.service systemd-networkd-wait-online.service systemd-firstboot.service systemd-resolved.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer motd-news.timer man-db.timer \
    mdcheck_start.timer mdcheck_continue.timer mdmonitor-oneshot.timer mdmonitor.service smartmontools.service smartd.service \
    rdma-ndd.service iwpmd.service srp_daemon.service ibacm.service ibacm.socket sysstat.service sysstat-collect.timer sysstat-summary.timer \
    systemd-update-utmp.service systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-timesyncd.service openipmi.service ipmievd.service \
    systemd-journald-audit.socket systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-pstore.service sys-fs-fuse-connections.mount \
    modprobe@drm.service modprobe@fuse.service modprobe@dm_mod.service modprobe@efi_pstore.service modprobe@loop.service \
    getty@tty1.service serial-getty@ttyS0.service console-setup.service keyboard-setup.service; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
# Devices of the board that nothing here asks about; each driver costs seconds under emulation.
for module in ahci libata i2c_i801 lpc_ich iTCO_wdt pcspkr psmouse serio_raw joydev evdev kvm kvm_amd kvm_intel ccp rapl; do
    echo "blacklist $module"
done >"$root/etc/modprobe.d/rack.conf"
chroot "$root" systemctl --quiet enable rack-net.service rack.service ssh.service chrony.service

# Disks, RAID and connections are the business of rack-start alone.
printf 'HOMEHOST <ignore>\nAUTO -all\n' >"$root/etc/mdadm/mdadm.conf"
rm -f "$root/etc/nvme/hostnqn" "$root/etc/nvme/hostid" # the package writes one identity for every machine of this image
mkdir -p "$root/var/log/journal" "$root/mnt/fx100" "$root/mnt/nvme0"
: >"$root/etc/fstab"
: >"$root/etc/machine-id"
echo rack >"$root/etc/hostname"
printf '127.0.0.1 localhost\n192.168.100.10 array\n192.168.100.11 node\n' >"$root/etc/hosts"

# Time comes from the operator's machine over the management port; rack-net writes its port.
printf 'include /run/rack-chrony.conf\nmakestep 0.1 -1\nrtcsync\ndriftfile /var/lib/chrony/drift\n' >"$root/etc/chrony/chrony.conf"

# The kernel's audit is there for who asks, and tells nobody anything; and no name server: whoever asks for a name is told at once.
mkdir -p "$root/etc/systemd/journald.conf.d"
printf '[Journal]\nAudit=no\n' >"$root/etc/systemd/journald.conf.d/rack.conf"
: >"$root/etc/resolv.conf"

# SSH: keys only; the host keys come from the outside, so that the inventory can pin them before the first boot.
rm -f "$root"/etc/ssh/ssh_host_*
printf 'UseDNS no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nHostKey /etc/ssh/ssh_host_ed25519_key\nMaxStartups 50\n' >"$root/etc/ssh/sshd_config.d/rack.conf"
chroot "$root" id -u ops >/dev/null 2>&1 || chroot "$root" useradd --create-home --shell /bin/bash ops
printf 'ops ALL=(ALL) NOPASSWD: ALL\n' >"$root/etc/sudoers.d/ops"
chmod 440 "$root/etc/sudoers.d/ops"

# Last of all: nothing in /usr is newer than this, so the first start has no databases to rebuild.
touch -r "$root/usr" "$root/etc/.updated" "$root/var/.updated"
