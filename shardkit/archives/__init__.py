"""Zip and tar files as read-only folders, so that every layout of files also works inside an archive."""
