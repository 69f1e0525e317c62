"""What runs on the hosts: Python 3.8 and its standard library, nothing of kvgate; packed into one file by kvgate.soak.package."""
