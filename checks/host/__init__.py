"""hosts: CPU, memory, clocks, limits, kernel log: probes, facts and criteria."""
