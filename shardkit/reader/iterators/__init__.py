"""What happens when an iterator is made or restored: its start step, and the refusal to restore from a checkpoint."""
