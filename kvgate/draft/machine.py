"""Processors, memory, kernel and its settings of one host, as seen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from checks.fabric.probes import target
from checks.host import probes as host
from checks.nvme.probes import controllers
from checks.parsers.cmdline import CommandLine
from checks.parsers.dmidecode import Firmware
from checks.parsers.sysctl import Settings
from checks.probe import Probe
from checks.roce.probes import links
from kvgate.draft.form import AGREED, Entry, Known, Leaf, Open, Remark
from kvgate.draft.look import Looked
from kvgate.mask import Masker

#: Words of the kernel command line that belong to one machine's boot, not to an agreement.
_BOOT = re.compile(
    r"(BOOT_IMAGE|initrd|root|rootflags|rootfstype|resume|console|earlycon|crashkernel|rd\.[\w.]+|LANG|ip|BOOTIF|systemd\.[\w.]+)=.*|"
    r"ro|rw|quiet|splash|nomodeset|rhgb|---?|\S*vmlinuz\S*", re.ASCII,
)  # fmt: skip
_SETTINGS = ("net.core.rmem_max", "net.core.wmem_max", "vm.swappiness")
_TRANSPORT = {"rdma": "nvme_rdma", "tcp": "nvme_tcp"}
#: RDMA driver of a network driver, where the two are separate modules.
_RDMA = {"mlx5": "mlx5_ib", "bnxt_re": "bnxt_re", "hns": "hns_roce_hw_v2", "irdma": "irdma"}
_GIB = 2**30


def first() -> Iterator[Probe[Any]]:
    """Questions that need no earlier answer."""
    yield from (host.kernel(), host.processors(), host.memory(), host.firmware(), host.command_line())


def then(looked: Looked, role: str | None) -> Iterator[Probe[Any]]:
    """Questions that follow from the kernel's release and the role."""
    yield host.settings(() if role == "array" else _SETTINGS)
    if (kernel := looked.may(host.kernel())) is not None:
        yield host.modules(_modules(looked), kernel.release)


def _modules(looked: Looked) -> set[str]:
    """The driver modules that what was seen needs."""
    tree, offered = looked.may(controllers()), looked.may(target())
    found = {_TRANSPORT[one.transport] for one in tree.fabrics if one.transport in _TRANSPORT} if tree else set()
    found |= {"nvme_fabrics"} if found else set()
    served = {port.transport for port in offered.ports} if offered else set()
    found |= {"nvmet", *(f"nvmet_{one}" for one in served)} if served else set()
    devices = [one.device for one in looked.may(links()) or ()]
    return found | {module for device in devices for prefix, module in _RDMA.items() if device.startswith(prefix)}


def system(looked: Looked, role: str | None) -> Iterator[Entry | Remark]:
    """The ``system`` mapping."""
    cpu, mem, firm = host.processors(), host.memory(), host.firmware()
    cores = looked.value(
        "physical cores of all sockets",
        cpu,
        lambda f: f.sockets * f.cores_per_socket if f.sockets and f.cores_per_socket else None,
    )
    yield Entry("cpu", [
        Entry("model", looked.value("model", cpu, lambda f: f.model)),
        Entry("sockets", looked.value("count", cpu, lambda f: f.sockets)),
        Entry("cores", cores),
    ])  # fmt: skip
    yield Entry("memory", [
        Entry("size", looked.value("size such as 1536 GiB", firm, _size)),
        Entry("dimms", looked.value("count", firm, lambda f: len(f.modules) or None)),
        Entry("speed", looked.value("MT/s, one for all modules", firm, _speed, _rated(looked))),
    ])  # fmt: skip
    yield Entry("bios", looked.value("version", firm, lambda f: f.version))
    yield Entry("kernel", looked.value("release, as uname -r prints it", host.kernel(), lambda f: f.release, AGREED))
    words = looked.value(
        "words such as [iommu=pt]",
        host.command_line(),
        _agreed,
        "keep the agreed words alone",
    )
    yield Entry("cmdline", words)
    yield from _tuning(looked, role)
    yield from _loaded(looked)
    if role != "array":
        yield Entry("service", [
            Entry("unit", Open("systemd unit of the inference engine; without one delete `service`")),
            Entry("memlock", Known("unlimited", "bytes or unlimited; agree")),
            Entry("nofile", Known(1048576, "agree")),
        ])  # fmt: skip
    balancing = host.settings(() if role == "array" else _SETTINGS)
    yield Entry(
        "numa_balancing",
        looked.value(
            "true or false",
            balancing,
            lambda f: {None: None, "0": False}.get(f.get("kernel.numa_balancing"), True),
            AGREED,
        ),
    )
    yield Entry("hugepages", looked.value("count", mem, lambda f: f.hugepages, AGREED))


def _agreed(found: CommandLine) -> tuple[str, ...]:
    """Words that may belong to an agreement; a secret among them stays on the host."""
    mask = Masker()
    return tuple(mask.mask_text(word)[0] for word in found.words if not _BOOT.fullmatch(word))


def _size(firmware: Firmware) -> str | None:
    sizes = [module.size_kib for module in firmware.modules]
    if not sizes or None in sizes:
        return None
    total = sum(size for size in sizes if size is not None) * 1024
    return f"{total // _GIB} GiB" if total % _GIB == 0 else f"{total} B"


def _speed(firmware: Firmware) -> int | None:
    speeds = {module.configured for module in firmware.modules}
    return speeds.pop() if len(speeds) == 1 else None


def _rated(looked: Looked) -> str:
    firmware = looked.may(host.firmware())
    rated = sorted({module.rated or 0 for module in firmware.modules}) if firmware else []
    return f"MT/s as they run; rated for {', '.join(map(str, rated))}; compare with the order"


def _tuning(looked: Looked, role: str | None) -> Iterator[Entry | Remark]:
    if role == "array":
        return
    probe = host.settings(_SETTINGS)
    values = [Entry(name, looked.value("as agreed", probe, _setting(name), AGREED)) for name in _SETTINGS]
    yield Entry("sysctl", values)


def _setting(name: str) -> Callable[[Settings], str | None]:
    return lambda found: found.get(name)


def _loaded(looked: Looked) -> Iterator[Entry | Remark]:
    wanted = sorted(_modules(looked))
    kernel = looked.may(host.kernel())
    if not wanted:
        yield Remark("modules: no NVMe-oF and no RDMA was seen, so none is expected")
    elif kernel is None:
        yield Entry("modules", Open("names with a version or `any`", "the kernel release is not known"))
    else:

        def version(name: str) -> Leaf:
            def take(fact: Any) -> str | None:
                return next(("any" for one in fact.modules if one.name == name and one.live), None)

            return looked.value(
                "any, a version, or delete the line",
                host.modules(wanted, kernel.release),
                take,
                "loaded; a version in place of `any` is compared too",
            )

        yield Entry("modules", [Entry(name, version(name)) for name in wanted])
