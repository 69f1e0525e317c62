"""G1.1  The kernel log of each host is silent about troubles since boot."""

import pytest

from checks.host import facts, log_criteria, log_probes
from checks.parsers.dmesg import Kind


@pytest.mark.clause("G1.1.40")
def test_holds_the_whole_boot(host, ask, decide):
    decide(log_criteria.whole(ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())))


@pytest.mark.clause("G1.1.41")
def test_reports_no_timeouts_of_disks(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.driver_troubles(log)))


@pytest.mark.clause("G1.1.42")
def test_reports_no_errors_of_xfs(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, facts.FILESYSTEM)))


@pytest.mark.clause("G1.1.43")
def test_reports_no_lost_connections(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.fabric_troubles(log)))


@pytest.mark.clause("G1.1.44")
def test_reports_no_errors_of_accelerators(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, facts.ACCELERATOR)))


@pytest.mark.clause("G1.1.45")
def test_reports_no_machine_checks(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, facts.HARDWARE)))


@pytest.mark.clause("G1.1.46")
def test_reports_no_uncorrected_pcie_errors(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, frozenset({Kind.AER_UNCORRECTED}))))


@pytest.mark.clause("G1.1.47")
def test_reports_few_corrected_pcie_errors(host, ask, terms, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, frozenset({Kind.AER_CORRECTED})), allowed=terms["corrected"]))


@pytest.mark.clause("G1.1.48")
def test_reports_no_silent_nfs_server(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, frozenset({Kind.NFS_LOST}))))


@pytest.mark.clause("G1.1.49")
def test_never_ran_out_of_memory(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, frozenset({Kind.OUT_OF_MEMORY}))))


@pytest.mark.clause("G1.1.50")
def test_never_hung_or_crashed(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, facts.STUCK)))


@pytest.mark.clause("G1.1.51")
def test_never_throttled_its_processors(host, ask, decide):
    log = ask(host.host, log_probes.kernel_journal(), otherwise=log_probes.kernel_ring())
    decide(log_criteria.silent(log, facts.of_kinds(log, frozenset({Kind.THROTTLED}))))
