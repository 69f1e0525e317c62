"""A gate run: what is asked, how answers become facts, and the one place where "could not tell" becomes UNDECIDED."""
