"""Local and remote folders behind one small interface, and locks on them. Nothing here knows about datasets."""
