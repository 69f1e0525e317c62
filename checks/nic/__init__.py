"""Ethernet ports: probes, facts and criteria."""
