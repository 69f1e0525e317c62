"""Ways to ask a host: SSH, a stored run, this machine."""
