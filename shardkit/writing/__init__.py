"""The conversion as plain functions: resume, refusals, one shard, publishing. No Beam."""
