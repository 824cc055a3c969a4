"""Decide what the values of a table say about the labels: classes, several classes, or numbers."""
