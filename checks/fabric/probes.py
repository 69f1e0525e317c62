"""What to ask about NVMe-oF connections. The paths themselves come from the NVMe tree: ``checks.nvme.probes.controllers``."""

from __future__ import annotations

from checks.parsers import nvme_discover, nvme_host, nvme_list_subsys, nvmet
from checks.probe import Glob, Probe


def identity() -> Probe[nvme_host.NvmeHost]:
    """Who this host is to a target, and which connections come back after a reboot."""
    return Probe(
        id="nvme-host",
        argv=(
            "grep", "-Hs", "", "/etc/nvme/hostnqn", "/etc/nvme/hostid", "/etc/nvme/discovery.conf", "/etc/nvme/config.json",
            Glob("/etc/systemd/system/*.wants/nvm*.service"), nvme_host.LAST,
        ),
        parse=nvme_host.parse,
        accepted=frozenset({0, 1, 2}),
    )  # fmt: skip


def list_subsystems() -> Probe[tuple[nvme_list_subsys.Subsystem, ...]]:
    """Subsystems and paths as nvme-cli sees them."""
    return Probe(id="nvme-list-subsys", argv=("nvme", "list-subsys", "-o", "json"), parse=nvme_list_subsys.parse)


def discover(transport: str, address: str, port: int) -> Probe[tuple[nvme_discover.Record, ...]]:
    """What the target offers to this host. Opens a discovery connection for a moment and changes nothing."""
    return Probe(
        id="nvme-discover",
        argv=("nvme", "discover", "-t", transport, "-a", address, "-s", str(port), "-o", "json"),
        parse=nvme_discover.parse,
        limit=20.0,
    )


def target() -> Probe[nvmet.Target]:
    """What a Linux target exports. No file below allowed_hosts is read: keys stand there."""
    root = "/sys/kernel/config/nvmet"
    return Probe(
        id="nvmet",
        argv=(
            "grep", "-Hs", "", Glob(f"{root}/ports/*/addr_trtype"), Glob(f"{root}/ports/*/addr_traddr"),
            Glob(f"{root}/ports/*/addr_trsvcid"), Glob(f"{root}/ports/*/subsystems/*/attr_allow_any_host"),
            Glob(f"{root}/subsystems/*/namespaces/*/enable"), nvmet.LAST,
        ),
        parse=nvmet.parse,
        accepted=frozenset({0, 1, 2}),
    )  # fmt: skip
