"""Recognise tables that name images: the roles of their columns, and the folder that their paths start at."""
