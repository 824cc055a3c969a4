"""The examples of a split as a table in memory: where each is stored, which are selected, and how datasets are mixed.

Everything here reads manifests and indexes only: no records, no images and no order.
"""
