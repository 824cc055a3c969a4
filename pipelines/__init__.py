"""Beam pipelines: the inventory of a source, the writing of shards, the verification of a dataset. Nothing else imports Beam."""
