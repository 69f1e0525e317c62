"""NVMe disks: probes, facts and criteria."""
