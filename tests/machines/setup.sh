# Runs once in the root of a new machine, before its first boot. Only what a test asks for is started.
rm -f /etc/systemd/system/*.wants/*
: > /etc/machine-id
cat > /etc/systemd/system/machine.target <<'UNIT'
[Unit]
Requires=basic.target
After=basic.target
Wants=ssh.service dbus.service systemd-user-sessions.service systemd-networkd.service multi-user.target
AllowIsolate=yes
UNIT
ln -sf machine.target /etc/systemd/system/default.target
for unit in getty.target systemd-udevd.service systemd-logind.service systemd-udev-trigger.service \
    e2scrub_reap.service systemd-journal-flush.service; do
  ln -sf /dev/null /etc/systemd/system/$unit
done
rm -f /etc/ssh/ssh_host_* /etc/ssh/sshd_config.d/* /etc/apt/sources.list.d/* /etc/apt/preferences.d/* /usr/sbin/policy-rc.d
: > /etc/apt/sources.list
rm -rf /var/lib/apt/lists/*
install -d -m 755 /etc/ssh/authorized_keys.d /etc/metalwright
rm -rf /etc/systemd/network/*
