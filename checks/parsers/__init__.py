"""One file a command: the text a tool prints -> a frozen fact, or UnreadableOutput. Independent of one another."""
