"""Training programs that `shardkit script` prints.

Each is a whole file, printed as it is but for the values of the dataset at its head. It is the user's own from then on,
so there is no training library here.
"""
