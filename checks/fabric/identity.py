"""When hosts are told apart by the array, and whether their connections come back after a reboot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from checks.fabric.facts import Link, same_address
from checks.parsers.nvme_host import NvmeHost
from checks.parsers.nvmet import Target
from checks.phrase import say
from checks.verdict import Verdict


def identities_distinct(hosts: Mapping[str, NvmeHost]) -> Verdict:
    """No two hosts carry the same host NQN or host ID. Letters differ in case only: the same identity.

    A host NQN of config.json counts as well: connections run under it, whatever the hostnqn file says.
    """
    required = say("{count} different host NQNs and host IDs", count=len(hosts))
    owners: dict[str, list[str]] = defaultdict(list)
    missing: list[str] = []
    for name, host in hosts.items():
        if None in (host.host_nqn, host.host_id):
            missing.append(name)
        own = {identity.lower() for identity in (host.host_nqn, host.host_id, *host.config_nqns) if identity}
        for identity in own:
            owners[identity].append(name)
    shared = {identity: names for identity, names in owners.items() if len(names) > 1}
    if shared:
        text = "; ".join(f"{', '.join(names)}: {identity}" for identity, names in sorted(shared.items()))
        return Verdict.of(False, text, required)
    if missing or not hosts:
        return Verdict.undecided(
            say("no /etc/nvme/hostnqn or hostid on: {hosts}", hosts=", ".join(dict.fromkeys(missing)) or "-"), required
        )
    return Verdict.of(True, say("all {count} differ", count=len(hosts)), required)


def identity_in_use(link: Link, host: NvmeHost) -> Verdict:
    """The paths were opened under the identity that this host's files give, so a reboot does not change it."""
    nqns = {nqn for nqn in (host.host_nqn, *host.config_nqns) if nqn is not None}
    required = " / ".join(sorted(nqns))
    if not link.paths:
        return Verdict.undecided(say("the subsystem is not connected, so no identity is in use"), required)
    if not nqns or host.host_id is None:
        return Verdict.undecided(say("/etc/nvme has no hostnqn or no hostid"), required)
    used = [(path.hostnqn, path.hostid) for path in link.paths]
    if any(nqn is None or uuid is None for nqn, uuid in used):
        return Verdict.undecided(say("the kernel does not show the identity in use (before 5.8)"), required)
    own = host.host_id.lower()  # the kernel prints small letters, whatever stands in the file
    holds = all(nqn in nqns and (uuid or "").lower() == own for nqn, uuid in used)
    measured = "; ".join(dict.fromkeys(f"{nqn} {uuid}" for nqn, uuid in used))
    return Verdict.of(holds, measured, f"{required} {host.host_id}")


def comes_back(host: NvmeHost, nqn: str, address: str) -> Verdict:
    """A reboot restores the connection: an entry for it plus an enabled autoconnect unit, or a unit of its own."""
    required = say("an entry for the connection and an enabled unit that uses it")
    own = [unit.name for unit in host.units if any({nqn, address} & _words(line) for line in unit.starts)]
    if own:
        return Verdict.of(True, ", ".join(own), required)
    entries = [one for one in host.configured if one.nqn == nqn or (one.address and same_address(one.address, address))]
    units = [unit.name for unit in host.units if unit.name.startswith("nvmf-autoconnect")]
    if entries and units:
        return Verdict.of(True, say("{count} entries, {unit}", count=len(entries), unit=units[0]), required)
    if not entries:
        return Verdict.of(False, say("neither discovery.conf nor config.json names it"), required)
    return Verdict.of(False, say("{count} entries, but nvmf-autoconnect is not enabled", count=len(entries)), required)


def _words(line: str) -> set[str]:
    # Whole words: 192.168.100.1 is not the beginning of 192.168.100.10.
    return set(line.replace("=", " ").replace("'", " ").replace('"', " ").split())


def exported(target: Target, nqn: str, transport: str, address: str, port: int, namespaces: int) -> Verdict:
    """The target itself offers the subsystem on the ordered port with the ordered number of enabled namespaces."""
    required = say(
        "{transport} {address}:{port}, {namespaces} namespaces enabled",
        transport=transport, address=address, port=port, namespaces=namespaces,
    )  # fmt: skip
    if not target.ports and not target.subsystems:
        return Verdict.undecided(
            say("the array has no Linux kernel target; its own command line or its vendor has to show this"), required
        )
    places = [one for one in target.ports if nqn in one.nqns]
    right = any(
        one.transport == transport and same_address(one.address, address) and one.service == str(port) for one in places
    )
    enabled = sum(on for one in target.subsystems if one.nqn == nqn for _, on in one.namespaces)
    where = ", ".join(f"{one.transport} {one.address}:{one.service}" for one in places) or "-"
    measured = say("{where}, {enabled} namespaces enabled", where=where, enabled=enabled)
    return Verdict.of(right and enabled == namespaces, measured, required)
