"""Whole files as engines write and read them: are they intact when they come back, and how fast are models loaded and saved."""
