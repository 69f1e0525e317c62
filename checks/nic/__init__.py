"""Ethernet ports: what they are, how their link, optics and PCI Express slot stand, what they count."""
