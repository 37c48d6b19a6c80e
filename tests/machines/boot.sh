#!/bin/bash
# Boots one machine: this computer's root file system under an overlay, systemd as its first process.
# Runs in new mount, PID, network, UTS, IPC and cgroup namespaces.
# usage: boot.sh STATE NAME MAC ADDRESS   STATE holds up/, work/, root/, setup.sh, boot_id, cmdline
set -e
state=$1 name=$2 mac=$3 address=$4
root=$state/root
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=/,upperdir=$state/up,workdir=$state/work" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for node in null zero full random urandom tty; do touch "dev/$node"; mount --bind "/dev/$node" "dev/$node"; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
hostname "$name"
# What belongs to the kernel as a whole is only read; a machine has settings of its network alone.
mount --bind proc/sys proc/sys
mount --bind proc/sys/net proc/sys/net
mount -o remount,bind,ro proc/sys
mount --bind "$state/boot_id" proc/sys/kernel/random/boot_id
mount --bind "$state/cmdline" proc/cmdline
if [ ! -e "$state/is-set-up" ]; then
  PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot . /bin/bash -e < "$state/setup.sh"
  touch "$state/is-set-up"
fi
ip link set lo up
until [ -e /proc/self/ns/net ] && ip link show host0 >/dev/null 2>&1; do sleep 0.05; done
ip link set host0 address "$mac"
if [ -n "$address" ]; then ip address add "$address" dev host0; ip link set host0 up; fi
mkdir -p mnt/old
pivot_root . mnt/old
umount -l /mnt/old
exec /usr/bin/env -i container=metalwright-test PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
  /lib/systemd/systemd --log-target=journal --unit=machine.target </dev/null
