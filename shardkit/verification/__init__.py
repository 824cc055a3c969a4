"""Verification of shards, of examples, and of leaks between splits. No Beam."""
