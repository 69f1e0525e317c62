"""What to ask a host about its clock."""

from __future__ import annotations

from checks.parsers import (
    chronyc_sources,
    chronyc_tracking,
    timedatectl,
)
from checks.probe import Probe


def tracking() -> Probe[chronyc_tracking.Tracking]:
    """Ask chrony how far the clock is off."""
    return Probe("chronyc-tracking", ("chronyc", "-c", "tracking"), chronyc_tracking.parse)


def time_sources() -> Probe[chronyc_sources.Sources]:
    """Ask chrony for its sources."""
    return Probe("chronyc-sources", ("chronyc", "-c", "-n", "sources"), chronyc_sources.parse)


def timesync() -> Probe[timedatectl.TimeDate]:
    """Ask systemd-timesyncd, where it is used in place of chrony."""
    return Probe("timesync-status", ("timedatectl", "timesync-status"), timedatectl.parse)


def clock_state() -> Probe[timedatectl.TimeDate]:
    """Ask whether the kernel itself counts its clock as synchronised."""
    # timedatectl starts a service that ends again when nobody asks: on a slow or busy host that takes longer than the answer.
    return Probe("timedatectl", ("timedatectl", "show"), timedatectl.parse, limit=30)
