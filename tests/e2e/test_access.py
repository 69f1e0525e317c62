"""Hosts that may not be asked, or not everything: a person may answer instead, by name; without an answer it is undecided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lab.machine import Edit
from tests.e2e.site import Site, outcomes

NODE = "  node-01:\n    role: node\n"
BOOT = "/proc/sys/kernel/random/boot_id:6b766761-7465-4c61-b000-000000000001\n"
#: The kernel counts no memory controller: what grep prints when the files are not there.
UNCOUNTED = {
    "node-01": (Edit(ask=r"grep -Hs '' /proc/sys/kernel/random/boot_id /sys/devices/system/edac.*", stdout=BOOT),)
}


def declare(
    site: Site, clause: str, subject: str, conforms: bool = True, value: str = "as seen on its console"
) -> None:
    line = f"  - {{clause: {clause}, subject: {subject}, value: {value}, conforms: {str(conforms).lower()}, "
    with site.inventory.open("a", encoding="utf-8") as file:
        file.write(line + "by: Li Wei of the vendor, on: 2026-11-28}\n")


def row(shown: dict[str, Any], clause: str, subject: str) -> dict[str, Any]:
    (found,) = [one for one in shown["verdicts"] if (one["clause"], one["subject"]) == (clause, subject)]
    return dict(found)


def test_a_host_that_is_not_asked_is_undecided_unless_declared(serve: Callable[..., Site]) -> None:
    site = serve()
    site.serve_nothing()
    site.change(NODE, NODE + "    access: none\n")
    declare(site, "G1.1.2", "node-01")
    declare(site, "G1.1.9", "node-01", conforms=False, value="BIOS 2.3.6")
    ended = site.gate()
    assert ended.returncode == 1
    assert site.hosts[1].connections == 0
    shown = site.last()
    told = outcomes(shown)
    asked = {outcome for (_, subject), outcome in told.items() if subject.startswith("fx100-a")}
    assert asked == {"PASS"}
    kernel = row(shown, "G1.1.2", "node-01")
    assert (kernel["outcome"], kernel["basis"]) == ("PASS", "declared")
    assert kernel["measured"] == "as seen on its console"
    assert "Li Wei of the vendor" in kernel["note"]
    assert "access: none" in kernel["note"]
    assert row(shown, "G1.1.9", "node-01")["outcome"] == "STOP"
    assert "BIOS 2.3.6" in ended.stdout
    rest = {
        outcome
        for (clause, subject), outcome in told.items()
        if subject.startswith("node-01") and clause not in ("G1.1.2", "G1.1.9", "G1.5.34")
    }
    assert rest == {"UNDECIDED"}


def test_a_host_that_allows_some_commands_is_asked_those_only(serve: Callable[..., Site]) -> None:
    site = serve()
    site.serve_nothing()
    site.change(NODE, NODE + "    access: commands\n    commands: [uname, lscpu]\n")
    declare(site, "G1.1.9", "node-01")
    assert site.gate().returncode == 6
    seen = {line.split()[0] for line in site.hosts[1].machine.asked}
    assert seen == {"uname", "lscpu"}
    shown = site.last()
    told = outcomes(shown)
    assert told["G1.1.1", "node-01"] == told["G1.1.2", "node-01"] == told["G1.1.3", "node-01"] == "PASS"
    assert row(shown, "G1.1.9", "node-01")["basis"] == "declared"
    undecided = row(shown, "G1.1.5", "node-01")
    assert (undecided["outcome"], undecided["reason"]) == ("UNDECIDED", "NotAskable")


def test_a_declaration_never_stands_in_for_a_host_that_is_down(serve: Callable[..., Site]) -> None:
    site = serve("node-down")
    declare(site, "G1.1.2", "node-01")
    assert site.gate().returncode == 6
    assert row(site.last(), "G1.1.2", "node-01")["outcome"] == "UNDECIDED"


def test_what_a_kernel_does_not_count_is_undecided_and_may_be_declared(serve: Callable[..., Site]) -> None:
    site = serve(edits=UNCOUNTED)
    assert site.gate().returncode == 6
    told = outcomes(site.last())
    lacking = {place for place, outcome in told.items() if outcome != "PASS"}
    assert lacking >= {("G1.1.7", "node-01"), ("G1.1.8", "node-01")}
    assert {told[place] for place in lacking} == {"UNDECIDED"}
    assert row(site.last(), "G1.1.7", "node-01")["reason"] == "Unsupported"
    for clause, subject in lacking:
        declare(site, clause, subject, value="BMC log is clean")
    assert site.gate().returncode == 0
    shown = site.last()
    for clause, subject in lacking:
        declared = row(shown, clause, subject)
        assert (declared["outcome"], declared["basis"]) == ("PASS", "declared")
        assert "Li Wei of the vendor" in declared["note"]


def test_a_declaration_does_not_change_what_was_measured(serve: Callable[..., Site]) -> None:
    site = serve("disk-media-errors")
    declare(site, "G1.2.9", "fx100-a:S7Y0NX0W100003")
    assert site.gate().returncode == 1
    assert row(site.last(), "G1.2.9", "fx100-a:S7Y0NX0W100003")["basis"] == "measured"
