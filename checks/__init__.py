"""Knowledge: what to ask a machine, what its answer says and when that is good enough. Pure: no I/O, no clock."""
