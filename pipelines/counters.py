"""Names of the counters that an engine's page shows."""

NAMESPACE = "shardkit"
