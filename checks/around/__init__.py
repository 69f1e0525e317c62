"""What stands around a round and may explain why rounds differ: heat, clocks, throttling, other work, links and what they lost.

It is looked at on every host of every trial, before and after each round. It decides nothing by itself: what a machine does
not show is not known, is no cause, and is named as not looked at.
"""
