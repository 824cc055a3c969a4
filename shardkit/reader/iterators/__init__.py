"""What happens when an iterator is made or restored: its start step, and the refusal to restore from a checkpoint.

Nothing here knows what is read: the pipeline's dataset is an argument.
"""
