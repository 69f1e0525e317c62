"""What disks, arrays and filesystems carry under load: fio's patterns, whether a round may be believed, and how good it must be."""
