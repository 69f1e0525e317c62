"""When data can reach the cards: NVSwitch fabric, NPU ports, peer memory, GPUDirect Storage; and when all nodes are alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from checks.accelerator.facts import Card, Cards
from checks.accelerator.pci import PeerMemory
from checks.accelerator.weighing import each
from checks.parsers.gdscheck import GdsCheck
from checks.parsers.hccn_tool import Link, NetHealth, Reply, of
from checks.parsers.systemctl_is_active import UnitState
from checks.phrase import Phrase, say
from checks.verdict import Outcome, Verdict, worst

_PENDING = frozenset({"Not Started", "In Progress"})


def fabric_up(cards: Cards, manager: UnitState, ordered: int) -> Verdict:
    """Every card has joined its NVSwitch fabric: the cards' own word counts, the service explains.

    A fabric that completed needs no service on this host (GB200 manages it elsewhere); a running service proves nothing
    while a card is still registering. Cards that do not tell leave it undecided, for a service is no proof.
    """

    def holds(card: Card) -> bool | None:
        if card.fabric_state in _PENDING:
            return False
        if card.fabric_state != "Completed" or card.fabric_status is None:
            return None
        return card.fabric_status == "Success"

    verdict = each(
        cards,
        ordered,
        say("a known state of its fabric"),
        "Completed / Success",
        holds,
        lambda card: f"{card.fabric_state or '?'} / {card.fabric_status or '?'}",
    )
    service = say("absent") if manager.load == "not-found" else manager.active
    stateless = bool(cards.cards) and all(card.fabric_state is None for card in cards.cards)
    if stateless and service in ("inactive", "failed"):
        # Cards that have no fabric state (before Hopper) need the service without exception.
        verdict = Verdict.of(False, say("nvidia-fabricmanager {service}", service=service), verdict.required)
    if verdict.outcome is Outcome.STOP:
        return verdict.with_note(
            say(
                "{count} cards listed, but the NVSwitch fabric is not up (nvidia-fabricmanager {service}): CUDA will answer 802",
                count=len(cards.cards),
                service=service,
            )
        )
    if verdict.outcome is Outcome.PASS:
        return verdict.with_note(say("nvidia-fabricmanager {service}", service=service))
    return verdict


def ports_up(replies: tuple[Reply, ...], ordered: int) -> Verdict:
    """The RoCE port of every NPU has its link."""
    links = of(replies, Link)
    down = sorted(device for device, link in links.items() if device is not None and not link.up)
    if down:
        return Verdict.of(False, say("NPU {devices}: DOWN", devices=", ".join(map(str, down))), "UP")
    if len(links.keys() - {None}) < max(ordered, 1):
        return Verdict.undecided(_too_few(len(links), ordered), "UP")
    return Verdict.of(True, say("{count} ports UP", count=len(links)), "UP")


def ports_healthy(replies: tuple[Reply, ...], ordered: int, good: Collection[str], bad: Collection[str]) -> Verdict:
    """Every NPU's port reaches its detect address; a port that was given none (Init) does not tell."""
    words = {device: health.status for device, health in of(replies, NetHealth).items() if device is not None}
    required = " / ".join(good)
    shown = ", ".join(f"NPU {device}: {word}" for device, word in sorted(words.items()) if word not in good)
    if any(word in bad for word in words.values()):
        return Verdict.of(False, shown, required)
    if shown:
        return Verdict.undecided(
            say("{ports}; set a detect address with hccn_tool -netdetect to have it told", ports=shown), required
        )
    if len(words) < max(ordered, 1):
        return Verdict.undecided(_too_few(len(words), ordered), required)
    return Verdict.of(True, say("{count} ports healthy", count=len(words)), required)


def _too_few(told: int, ordered: int) -> Phrase:
    return say("{told} of {ordered} NPUs told of their port", told=told, ordered=ordered)


def reachable_by_adapter(ways: PeerMemory, platform: str) -> Verdict:
    """A network adapter can read card memory without a copy: by a peer memory module or by dmabuf."""
    required = say("a peer memory module or dmabuf")
    if platform == "nvidia":
        found = [
            name
            for name, there in (
                ("nvidia_peermem", ways.peermem_loaded and ways.peer_client),
                ("dmabuf", ways.dmabuf and ways.open_driver),
            )
            if there
        ]
    else:
        found = [name for name, there in (("peer client", ways.peer_client), ("dmabuf", ways.dmabuf)) if there]
    return Verdict.of(bool(found), ", ".join(found) or say("none"), required)


def gds_over_fabrics(check: GdsCheck) -> Verdict:
    """GPUDirect Storage supports NVMe-oF here; the line on the platform as a whole does not count."""
    if check.verification is not None and "error" in check.verification.lower():
        return Verdict.of(False, check.verification, "NVMeOF Supported")
    if check.nvmeof not in ("Supported", "Unsupported"):
        return Verdict.undecided(
            say("gdscheck says {word} of NVMeOF, a word kvgate does not know", word=check.nvmeof), "NVMeOF Supported"
        )
    return Verdict.of(check.nvmeof == "Supported", f"NVMeOF {check.nvmeof}", "NVMeOF Supported")


def gds_never_copies(check: GdsCheck) -> Verdict:
    """Compatibility mode is neither allowed nor forced: with it, a copy through host memory looks like success."""
    required = say("compatibility mode off")
    words = {"use_compat_mode": check.use_compat_mode, "force_compat_mode": check.force_compat_mode}
    on = [name for name, word in words.items() if word == "true"]
    if on:
        return Verdict.of(False, ", ".join(f"{name} true" for name in on), required)
    # force_compat_mode came with GDS 1.7; without the first line nothing is known.
    if check.use_compat_mode != "false" or check.force_compat_mode not in (None, "false"):
        return Verdict.undecided(say("gdscheck does not tell whether compatibility mode is allowed"), required)
    return Verdict.of(True, "use_compat_mode false", required)


def joined(answers: Sequence[Mapping[str, Cards]]) -> dict[str, Cards]:
    """Several answers of the same hosts -> one set of cards a host."""
    first, *others = answers
    return {host: cards.joined(*(other[host] for other in others)) for host, cards in first.items()}


def all_alike(platforms: Mapping[str, Mapping[str, Cards]]) -> Verdict:
    """On every platform all cards of all nodes agree in what was asked: model, driver, firmware.

    Raises ValueError when there is no platform: the clause is owed only where accelerators were ordered.
    """
    return worst(_alike(hosts) for hosts in platforms.values())


def _alike(hosts: Mapping[str, Cards]) -> Verdict:
    required = say("the same model, driver and firmware on every node")
    if not hosts:
        return Verdict.undecided(say("the inventory has no hosts to compare"), required)
    kinds: dict[tuple[str | None, str | None, str | None], list[str]] = {}
    for host, cards in hosts.items():
        if not cards.cards:
            return Verdict.undecided(say("{host} told of no card", host=host), required)
        for card in cards.cards:
            kinds.setdefault((card.model, card.driver, card.firmware), []).append(host)
    shown = "; ".join(
        f"{' / '.join(word for word in kind if word)}: {', '.join(list(dict.fromkeys(where))[:4])}"
        for kind, where in list(kinds.items())[:4]
    )
    if any(len({kind[place] for kind in kinds if kind[place] is not None}) > 1 for place in range(3)):
        return Verdict.of(False, shown, required)
    if any(None in kind for kind in kinds):
        return Verdict.undecided(say("model, driver or firmware is not told: {shown}", shown=shown), required)
    return Verdict.of(True, say("{count} nodes: {kind}", count=len(hosts), kind=shown), required)
