"""G4  Seventy-two hours of which every minute is accounted for."""
