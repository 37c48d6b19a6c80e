"""The BMC: clock, network, protocols, logs, virtual media, consoles, job queue, what its maker adds."""

from __future__ import annotations

from metalwright.simulator.profiles.book import OK, ROOT
from metalwright.simulator.profiles.render.frame import Frame, Json
from metalwright.simulator.profiles.render.host import write_log


def write(frame: Frame) -> None:
    """The manager and what hangs under it."""
    book, path, data = frame.book, frame.manager, frame.data
    body: Json = {
        "ManagerType": "BMC",
        "Manufacturer": data.bmc.manufacturer,
        "Model": data.bmc.model,
        "FirmwareVersion": data.bmc.firmware,
        "UUID": "{{uuid+1}}",
        "ServiceEntryPointUUID": "{{uuid+1}}",
        "DateTime": "2026-01-01T00:00:00Z",
        "DateTimeLocalOffset": "+00:00",
        "PowerState": "On",
        "Status": OK,
        "NetworkProtocol": book.link(f"{path}/NetworkProtocol"),
        "EthernetInterfaces": book.link(f"{path}/EthernetInterfaces"),
        "LogServices": book.link(f"{path}/LogServices"),
        "Links": {
            "ManagerForServers": book.links(frame.systems),
            "ManagerForChassis": [book.link(frame.chassis)],
        },
        "Actions": {
            "#Manager.Reset": {
                "target": f"{path}/Actions/Manager.Reset",
                "ResetType@Redfish.AllowableValues": ["GracefulRestart", "ForceRestart"],
            }
        },
    }
    if frame.data.system is not None:
        _media(frame, body)
    for name, kinds in (("SerialConsole", frame.style.consoles.serial), ("CommandShell", frame.style.consoles.shell)):
        if kinds:
            body[name] = {"ServiceEnabled": True, "MaxConcurrentSessions": 4, "ConnectTypesSupported": list(kinds)}
    if frame.style.jobs:
        _jobs(frame, body)
    _settings_of_the_maker(frame, body)
    book.add(path, "Manager", "BMC", body)
    frame.same_version.setdefault(frame.style.firmware_bmc, []).append((path, "FirmwareVersion"))
    _network(frame)
    log = f"{path}/LogServices/{frame.style.manager_log}"
    write_log(frame, log, "Event")
    book.collect(f"{path}/LogServices", "LogService", [log])
    book.collect(f"{ROOT}/Managers", "Manager", [path, *frame.more_managers])
    if frame.systems:
        book.collect(f"{ROOT}/Systems", "ComputerSystem", frame.systems)


def _network(frame: Frame) -> None:
    book, path = frame.book, frame.manager
    interfaces = f"{path}/EthernetInterfaces"
    certificates = f"{path}/NetworkProtocol/HTTPS/Certificates"
    book.add(f"{certificates}/1", "Certificate", "Certificate of HTTPS", {"CertificateType": "PEM"})
    book.collect(certificates, "Certificate", [f"{certificates}/1"])
    book.add(
        f"{interfaces}/1",
        "EthernetInterface",
        "Dedicated management port",
        {
            "MACAddress": "{{MAC+0}}",
            "PermanentMACAddress": "{{MAC+0}}",
            "InterfaceEnabled": True,
            "LinkStatus": "LinkUp",
            "SpeedMbps": 1000,
            "HostName": "bmc-{{code}}",
            "DHCPv4": {"DHCPEnabled": True},
            "IPv4Addresses": [{"Address": "{{address}}", "SubnetMask": "255.255.255.0", "AddressOrigin": "DHCP"}],
            "IPv4StaticAddresses": [],
            "Status": OK,
        },
    )
    book.collect(interfaces, "EthernetInterface", [f"{interfaces}/1"])
    book.add(
        f"{path}/NetworkProtocol",
        "ManagerNetworkProtocol",
        "Network protocols of the BMC",
        {
            "HostName": "bmc-{{code}}",
            "FQDN": "bmc-{{code}}.example",
            "HTTP": {"ProtocolEnabled": False, "Port": 80},
            "HTTPS": {"ProtocolEnabled": True, "Port": 443, "Certificates": book.link(certificates)},
            "SSH": {"ProtocolEnabled": True, "Port": 22},
            "IPMI": {"ProtocolEnabled": True, "Port": 623},
            "KVMIP": {"ProtocolEnabled": True, "Port": 5900},
            "NTP": {"ProtocolEnabled": False, "Port": 123, "NTPServers": []},
            "Status": OK,
            **_log_servers(frame),
        },
    )


def _media(frame: Frame, manager: Json) -> None:
    style, book = frame.style, frame.book
    owner = frame.system if style.media.owner == "Systems" else frame.manager
    path = f"{owner}/VirtualMedia"
    for slot in style.media.slots:
        place = f"{path}/{slot}"
        is_disk = "removable" in slot.lower() or "floppy" in slot.lower()
        body: Json = {
            "MediaTypes": ["USBStick"] if is_disk else ["CD", "DVD"],
            "Image": None,
            "ImageName": None,
            "Inserted": False,
            "WriteProtected": True,
            "ConnectedVia": "NotConnected",
            "Status": OK,
        }
        if style.media.actions:
            names = ("InsertMedia", "EjectMedia")
            body["Actions"] = {
                f"#VirtualMedia.{name}": {"target": f"{place}/Actions/VirtualMedia.{name}"} for name in names
            }
        book.add(place, "VirtualMedia", f"Virtual media {slot}", body)
    book.collect(path, "VirtualMedia", [f"{path}/{slot}" for slot in style.media.slots])
    if owner == frame.manager:
        manager["VirtualMedia"] = book.link(path)


def _log_servers(frame: Frame) -> Json:
    """HPE's part of the network protocols."""
    if frame.style.vendor != "HPE":
        return {}
    return {"Oem": {"Hpe": {"RemoteSyslogEnabled": False, "RemoteSyslogServer": ""}}}


def _settings_of_the_maker(frame: Frame, manager: Json) -> None:
    """Lockdown and remote syslog where a maker has them in a resource of its own; no DMTF schema describes those."""
    book = frame.book
    match frame.style.vendor:
        case "Dell":
            path = f"{frame.manager}/Oem/Dell/DellAttributes/{frame.style.manager}"
            values = {"Lockdown.1.SystemLockdown": "Disabled", "SysLog.1.SysLogEnable": "Disabled"}
            servers = {f"SysLog.1.Server{number}": "" for number in (1, 2, 3)}
            book.bodies[path] = {
                "@odata.id": path,
                "@odata.type": "#DellAttributes.v1_0_0.DellAttributes",
                "Id": frame.style.manager,
                "Name": "Attributes of the BMC",
                "Attributes": {**values, **servers},
            }
            oem = manager["Links"].setdefault("Oem", {}).setdefault("Dell", {})
            oem["DellAttributes"] = [book.link(path)]
        case "Supermicro":
            path = f"{frame.manager}/Oem/Supermicro/SysLockdown"
            book.bodies[path] = {
                "@odata.id": path,
                "@odata.type": "#SysLockdown.v1_0_0.SysLockdown",
                "Id": "SysLockdown",
                "Name": "System lockdown",
                "SysLockdownEnabled": False,
            }
            manager["Oem"] = {"Supermicro": {"SysLockdown": book.link(path)}}


def _jobs(frame: Frame, manager: Json) -> None:
    """Dell's queue; no DMTF schema describes it."""
    path = f"{frame.manager}/Oem/Dell/Jobs"
    frame.book.bodies[path] = {
        "@odata.id": path,
        "@odata.type": "#DellJobCollection.DellJobCollection",
        "Name": "Job queue",
        "Members": [],
        "Members@odata.count": 0,
    }
    manager["Links"]["Oem"] = {"Dell": {"Jobs": frame.book.link(path)}}
