"""Beam pipelines: take a source's inventory, write shards, verify a dataset. Nothing else imports Beam."""
