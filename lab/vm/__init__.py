"""A rack of two virtual machines: real kernels, real NVMe-oF over soft RoCE, no hardware. See runbooks/virtual-rack.md."""
