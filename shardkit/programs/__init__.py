"""Training programs that `shardkit script` prints: what is in them, and how one file is made of their parts.

A program is the user's own from the moment that it is printed, so there is no training library here: nothing imports
the parts, which are read as text.
"""

from shardkit.programs.choosing import program_for

__all__ = ["program_for"]
