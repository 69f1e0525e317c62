"""A rack of two hosts that are this machine: an inventory for it, as text."""

from __future__ import annotations

from pathlib import Path

KEYS = ("SHA256:" + "A" * 43, "SHA256:" + "B" * 43)
_LINK = (
    "{nqn: 'nqn.2026-01.t:kv', transport: tcp, address: 10.99.0.1, paths: 1, queues: 1, namespaces: 1, ctrl_loss: 600, "
    "reconnect_delay: 10, fast_io_fail: 5}"
)
_PORT = 'driver: any, firmware: "1", speed: 100 Gb/s, mtu: 9000'


def inventory(
    folder: Path,
    *,
    ports: tuple[int, int] = (22, 22),
    keys: tuple[str, str] = KEYS,
    login: str = "user: root",
    mounts: str = "[]",
    soak: str = "",
    duration: str = "1 h",
) -> str:
    """YAML of an array and a node, both on loopback, soaked in ``folder``."""
    text = f"""rack: rack-t
campaign: soak-test
simulated: true
parties: {{vendor: {{key: vendor.pub}}, customer: {{key: customer.pub}}}}
defaults: {{{login}}}
hosts:
"""
    for number, (name, role, link) in enumerate((("array-a", "array", "[]"), ("node-01", "node", f"[{_LINK}]"))):
        text += f"""  {name}:
    role: {role}
    address: 127.0.0.{number + 1}
    port: {ports[number]}
    host_key: "{keys[number]}"
    nics: [{{name: eth{number}, mac: "02:00:00:00:00:0{number}", address: 10.99.0.{number + 1}, {_PORT}}}]
    nvmeof: {link}
    mounts: {mounts if role == "node" else "[]"}
"""
    return text + f"soak:\n  duration: {duration}\n  spare: 0 s\n  folder: {folder}\n  free: 1 MB\n{soak}"
