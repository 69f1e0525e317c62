"""A soak that never was: journals of hosts, healthy or with a fault at a given minute, in the form that the worker writes."""
