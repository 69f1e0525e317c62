"""The order of the embedded rack, written as the inventory file that an operator would have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template

from ruamel.yaml import YAML

from lab.order import NQN, Ordered

_FORMS = Path(__file__).parent / "ordered"


def _form(form: str, /, **values: str) -> str:
    return Template((_FORMS / f"{form}.yaml").read_text("utf-8")).substitute(values)


def text(hosts: Sequence[tuple[Ordered, int, str]], identity: Path | None = None, address: str = "127.0.0.1") -> str:
    """Write the inventory for hosts given as (order, SSH port, host key fingerprint)."""
    cards: dict[str, str] = YAML(typ="safe").load((_FORMS / "accelerators.yaml").read_text("utf-8"))
    parts = [_form("head", identity=f", identity: {identity}" if identity else "")]
    for platform in sorted({ordered.platform for ordered, _, _ in hosts if ordered.role == "node"}):
        parts.append(_form("profile", platform=platform, accelerators=cards[platform], nqn=NQN))
    parts.append("hosts:\n")
    for ordered, port, key in hosts:
        values = {name: str(value) for name, value in ordered.values.items()}
        values |= {"address": address, "port": str(port), "key": key, "platform": ordered.platform}
        parts.append(_form(ordered.role, **values))
    parts.append((_FORMS / "declared.yaml").read_text("utf-8"))
    return "".join(parts)
