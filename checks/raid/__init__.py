"""md RAID, XFS and mounts: probes, facts and criteria."""
