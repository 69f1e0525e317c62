"""Tests of the audit: a campaign with everything in it, on both databases, and what is done to it."""
