#!/bin/busybox sh
# PID 1 of the deploy ramdisk: load drivers, run the agent once, power off. It never reboots and never starts twice.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1

/bin/busybox --install -s /bin 2>/dev/null
mkdir -p /proc /sys /dev /run /tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs -o size=90%,mode=0755 tmpfs /run
mkdir -p /run/metalwright
ip link set lo up

# Devices name the drivers they want; buses found by the first round (virtio, SCSI) want more.
for round in 1 2; do
	cat /sys/bus/*/devices/*/modalias 2>/dev/null | sort -u | xargs modprobe -abq
done
modprobe -aq ext4 xfs

# An emulated processor runs plain code faster than the SHA and vector instructions it emulates.
grep -q "QEMU TCG" /proc/cpuinfo && export OPENSSL_ia32cap=0:0

# Everything is said on every console of the kernel.
consoles=
for console in $(cat /sys/class/tty/console/active); do
	[ -c "/dev/$console" ] && consoles="$consoles /dev/$console"
done

cd /metalwright/lib || exec poweroff -f
timeout -k 10 7200 python3 -S -B -m metalwright.imaging.agent --media /metalwright/media.json 2>&1 | tee $consoles >/dev/null

sync
poweroff -f
sleep 5
echo o >/proc/sysrq-trigger
sleep 60
