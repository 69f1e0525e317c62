"""Statistics of measurements: percentiles, paired rounds, intervals, rounding, steadiness, drift. No limit stands here."""
