"""NVMe over Fabrics connections: probes, facts and criteria."""
