"""Sections of a script's answer, and what the pages of a simulated host's engines give to whoever scrapes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.serving import pages

if TYPE_CHECKING:
    from lab.serving.host import ServingHost


def section(name: str, text: str, status: int = 0) -> str:
    """One section as the scripts print it."""
    return f"== {status} {name}\n" + "".join(f"| {row}\n" for row in text.splitlines())


def page(host: ServingHost, url: str) -> str:
    """The section of one page: the engine's own first, then those of LMCache's workers; SGLang has one for all."""
    found = next((one for one in host.running.values() if url in one.unit.pages), None)
    if found is None:
        return section(f"page {url}", "curl: (7) Failed to connect to 127.0.0.1: Connection refused", 7)
    role, rank = found.unit.role, found.unit.pages.index(url)
    if host.engine == "sglang":
        total, quiet = host.flaw("sources-untold", role), host.flaw("storage-untold", role)
        return section(f"page {url}", pages.sglang(found.counters, total=total is not None, storage=quiet is None))
    if rank == 3 and host.flaw("worker-silent", role):
        return section(f"page {url}", "curl: (28) Operation timed out after 30000 milliseconds", 28)
    if rank == 0:
        return section(f"page {url}", pages.engine(found.counters))
    missed = host.flaw("worker-missed", role)
    hit = 0 if not found.unit.store else found.counters.store
    return section(f"page {url}", pages.worker(found.counters, rank, hit // 2 if missed and rank == 2 else hit))
