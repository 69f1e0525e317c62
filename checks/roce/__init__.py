"""RoCE: GIDs, priorities, congestion control: probes, facts and criteria."""
