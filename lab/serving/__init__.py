"""Engines that are not there: what a host that serves models answers, in a time of its own that takes none."""
