"""What makes load on a host and is sent there as it stands: programs that need nothing but Python."""
