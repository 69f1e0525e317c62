"""accelerators: ROCm, Ascend, NVIDIA: probes, facts and criteria."""
