"""Restart the batches at a step that failed, see `retry`."""
