"""Stand-ins for the vendors' GPU packages, which no public repository here has: names, versions, relations, units.

What they install behaves as the real programs do where the deploy looks: DKMS builds for kernels whose headers are
there, a module is loaded into ``/sys/module``, ``nvidia-smi`` answers by the loaded module and the installed library.
``/etc/stand-in`` holds what a real machine keeps in its GPUs; ``stand-in-hardware.service`` is its power-on.
"""

from __future__ import annotations

from pathlib import Path

from tests.accelerators.texts import text
from tests.machines.packages import build_package, index_repository

KERNEL, NEWER_KERNEL = "6.1.0-41-amd64", "6.1.0-43-amd64"
DRIVER, OLD_DRIVER = "580.95.05", "575.57.08"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libcuda.so"

HARDWARE = f"""
cat > /usr/local/bin/uname <<'END'
#!/bin/sh
if [ "$1" = -r ]; then cat /etc/stand-in/running; else exec /usr/bin/uname "$@"; fi
END
cat > /usr/local/sbin/modprobe <<'END'
#!/bin/sh
# The stand-in of modprobe: a module is there when DKMS built it for the running kernel.
[ -e /etc/stand-in/rejected ] && {{ echo "modprobe: ERROR: '$1': Key was rejected by service" >&2; exit 1; }}
name=$(echo "$1" | tr - _); mkdir -p /sys/module/$name
case "$1" in nvidia|amdgpu) ;; *) exit 0;; esac
version=$(dkms status | sed -n "s|^$1/\\([^,]*\\), $(uname -r),.*|\\1|p")
[ -n "$version" ] || {{ rmdir /sys/module/$1; echo "modprobe: FATAL: Module $1 not found" >&2; exit 1; }}
echo "${{version%%-*}}" > /sys/module/$1/version
END
cat > /usr/local/sbin/stand-in-hardware <<'END'
#!/bin/sh
# Power-on: the newest kernel, modules that nobody forbids, MIG as it was set last.
mount -t tmpfs tmpfs /sys/module
ls /boot | sed -n 's/^vmlinuz-//p' | sort -V | tail -n 1 > /etc/stand-in/running
grep -qs '^blacklist nouveau' /etc/modprobe.d/* || mkdir /sys/module/nouveau
[ -e /etc/stand-in/mig ] && cp /etc/stand-in/mig /etc/stand-in/mig-now
for m in $(cat /etc/modules-load.d/metalwright-*.conf 2>/dev/null | grep -v '^#'); do
  [ -d /sys/module/nouveau ] || /usr/local/sbin/modprobe $m || true
done
END
chmod 755 /usr/local/bin/uname /usr/local/sbin/*
mkdir -p /etc/stand-in && touch /boot/vmlinuz-{KERNEL}
cat > /etc/systemd/system/stand-in-hardware.service <<'END'
[Unit]
DefaultDependencies=no
Before=basic.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/stand-in-hardware
[Install]
WantedBy=basic.target
END
mkdir -p /etc/systemd/system/basic.target.wants
ln -s ../stand-in-hardware.service /etc/systemd/system/basic.target.wants/
"""
"""The machine's own part, as lines of its set-up script."""

DKMS = """#!/bin/sh
# The stand-in of dkms: builds by noting, for kernels whose headers are there.
notes=/var/lib/dkms/stand-in
case "$1" in
status) cat $notes 2>/dev/null;;
autoinstall)
  mkdir -p /var/lib/dkms
  [ -e /lib/modules/$3/build/Makefile ] || { echo "headers of $3 are missing" >&2; exit 0; }
  for source in /usr/src/*/dkms.conf; do
    name=$(basename $(dirname $source)); module=${name%%-*}; version=${name#*-}
    line="$module/$version, $3, x86_64: installed"
    sed -i "\\\\|^$module/.*, $3,|d" $notes 2>/dev/null
    echo "$line" >> $notes
  done;;
esac
"""
NVIDIA_SMI = f"""#!/bin/sh
# The stand-in of nvidia-smi.
library=$(readlink {LIBRARY}.1 | sed 's/.*so[.]//'); module=$(cat /sys/module/nvidia/version 2>/dev/null)
if [ -z "$module" ]; then
  echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."; exit 9
fi
if [ "$module" != "$library" ]; then
  echo "Failed to initialize NVML: Driver/library version mismatch"; echo "NVML library version: $library"; exit 18
fi
word() {{ [ "$(cat /etc/stand-in/$1 2>/dev/null || echo 0)" = 1 ] && echo Enabled || echo Disabled; }}
case "$1" in
--query-gpu=mig*) for gpu in 0 1 2 3 4 5 6 7; do echo "$(word mig-now), $(word mig)"; done; exit;;
--multi-instance-gpu=*) echo "${{1#*=}}" > /etc/stand-in/mig; exit;;
--power-limit=*) echo "${{1#*=}}" > /run/stand-in-cap; exit;;
esac
fabric="In Progress"; systemctl is-active --quiet nvidia-fabricmanager.service && fabric=Completed
sed -e "s|<driver_version>.*<|<driver_version>$module<|" \\
  -e "s|<current_mig>[A-Za-z]*|<current_mig>$(word mig-now)|; s|<pending_mig>[A-Za-z]*|<pending_mig>$(word mig)|" \\
  -e "s|<current_power_limit>[0-9.]*|<current_power_limit>$(cat /run/stand-in-cap 2>/dev/null || echo 700.00)|" \\
  -e "s|<state>Completed|<state>$fabric|" /usr/share/stand-in/nvidia-smi.xml
"""
NVIDIA_CTK = f"""#!/bin/sh
# The stand-in of nvidia-ctk: nvidia-ctk cdi generate --output=FILE
file=${{3#--output=}}; mkdir -p $(dirname $file)
cat > $file <<END
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  mounts:
  - containerPath: $(readlink -f {LIBRARY}.1)
    hostPath: $(readlink -f {LIBRARY}.1)
END
"""
BUILD = "for k in /boot/vmlinuz-*; do dkms autoinstall --kernelver ${k#/boot/vmlinuz-}; done"


ROCM_SMI = """#!/bin/sh
# The stand-in of rocm-smi: the cap lasts until the next boot.
[ -d /sys/module/amdgpu ] || { echo "ERROR:root:Driver not initialized (amdgpu not found in modules)"; exit 1; }
if [ "$1" = --setpoweroverdrive ]; then echo "$2.0" > /run/stand-in-cap; exit; fi
cap=$(cat /run/stand-in-cap 2>/dev/null || echo 750.0)
sed 's|Package Power (W)": "750.0|Package Power (W)": "'"$cap"'|g' /usr/share/stand-in/rocm-smi.json
"""
AMD_CTK = """#!/bin/sh
# The stand-in of amd-ctk: amd-ctk cdi generate --output=FILE
file=${3#--output=}; mkdir -p $(dirname $file)
echo '{"cdiVersion": "0.6.0", "kind": "amd.com/gpu", "devices": []}' > $file
"""


def write_amd_packages(directory: Path, *, index: bool = True) -> None:
    """AMD's driver, ROCm's core and tool, and its container toolkit, with DKMS and the headers that it needs."""
    build_package(directory, "dkms", "3.0.10-8+deb12u1", files={"/usr/sbin/dkms": DKMS})
    headers = {f"/lib/modules/{KERNEL}/build/Makefile": "# headers\n"}
    build_package(directory, f"linux-headers-{KERNEL}", "6.1.158-1", files=headers)
    build_package(
        directory, "amdgpu-dkms", "1:6.12.12.60401-2164967.22.04", depends="dkms", scripts={"postinst": BUILD},
        files={"/usr/src/amdgpu-6.12.12-2164967.22.04/dkms.conf": "# amdgpu\n"},
    )  # fmt: skip
    build_package(directory, "rocm-core", "6.4.1.60401-83~22.04")
    tool = {"/opt/rocm/bin/rocm-smi": ROCM_SMI, "/usr/share/stand-in/rocm-smi.json": text("rocm-smi-mi300x")}
    build_package(directory, "rocm-smi-lib", "7.5.0.60401-83~22.04", depends="rocm-core", files=tool)
    build_package(directory, "amd-container-toolkit", "1.1.0-1", files={"/usr/bin/amd-ctk": AMD_CTK})
    if index:
        index_repository(directory)


def write_gpu_packages(directory: Path, *, index: bool = True) -> None:
    """Both drivers with all that belongs to them, headers of both kernels, and one image of a newer kernel."""
    build_package(directory, "dkms", "3.0.10-8+deb12u1", files={"/usr/sbin/dkms": DKMS})
    for kernel in (KERNEL, NEWER_KERNEL):
        files = {f"/lib/modules/{kernel}/build/Makefile": "# headers\n"}
        build_package(directory, f"linux-headers-{kernel}", "6.1.158-1", files=files)
    for driver in (OLD_DRIVER, DRIVER):
        _driver(directory, driver)
    for name in ("nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1"):
        files = {"/usr/bin/nvidia-ctk": NVIDIA_CTK} if name.endswith("base") else {}
        build_package(directory, name, "1.18.0-1", files=files)
    build_package(
        directory, "nvidia-container-toolkit", "1.18.0-1",
        depends="nvidia-container-toolkit-base (= 1.18.0-1), libnvidia-container-tools (>= 1.18.0-1)",
    )  # fmt: skip
    build_package(directory, "datacenter-gpu-manager-4-core", "1:4.4.1-1", unit="nvidia-dcgm.service")
    core = "datacenter-gpu-manager-4-core (= 1:4.4.1-1)"
    build_package(directory, "datacenter-gpu-manager-4-cuda13", "1:4.4.1-1", depends=core)
    if index:
        index_repository(directory)


def _driver(directory: Path, driver: str) -> None:
    version = f"{driver}-1"
    for flavour, rival in (("nvidia-kernel-open-dkms", "nvidia-kernel-dkms"), ("nvidia-kernel-dkms", "none")):
        build_package(
            directory, flavour, version, depends="dkms", scripts={"postinst": BUILD},
            files={f"/usr/src/nvidia-{driver}/dkms.conf": f"PACKAGE_VERSION={driver} # {flavour}, not {rival}\n"},
        )  # fmt: skip
    link = f"ln -sf libcuda.so.{driver} {LIBRARY}.1"
    build_package(
        directory, "libcuda1", version, files={f"{LIBRARY}.{driver}": f"{driver}\n"}, scripts={"postinst": link}
    )
    build_package(directory, "libnvidia-ml1", version)
    build_package(
        directory, "nvidia-driver-cuda", version, depends=f"libcuda1 (= {version}), libnvidia-ml1 (= {version})",
        files={"/usr/bin/nvidia-smi": NVIDIA_SMI, "/usr/share/stand-in/nvidia-smi.xml": text("nvidia-smi-h100-8x")},
    )  # fmt: skip
    build_package(directory, "nvidia-persistenced", version, unit="nvidia-persistenced.service")
    branch = "" if driver == DRIVER else f"-{driver.partition('.')[0]}"
    build_package(directory, f"nvidia-fabricmanager{branch}", version, unit="nvidia-fabricmanager.service")
