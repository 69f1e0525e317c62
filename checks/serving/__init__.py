"""What a serving engine did: requests, tiers, arms, and the clauses that weigh one arm against another."""
