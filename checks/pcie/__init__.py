"""PCI Express links: probes, facts and criteria."""
