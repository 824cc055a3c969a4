"""What a conversion keeps in OUT while it runs: the lock and the token of the run, its work folder, logs and reports.

`output_folder` decides what an existing OUT is. How shards are written and the dataset is published is in `writing`.
"""
