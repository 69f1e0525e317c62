"""How fast the hosts are asked, measured against plain ``ssh`` and against other tools in one run; results in README.md."""
