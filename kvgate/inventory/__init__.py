"""The rack as ordered: read strictly from YAML, with every fault at once."""
