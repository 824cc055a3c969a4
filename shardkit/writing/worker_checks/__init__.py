"""Workers on other hosts: refuse those that would write something else than the driver expects.

| module | contents |
|---|---|
| `driver_view` | compare versions and folders of a worker with the driver's |
| `failures` | report a worker's failure to the driver, which stops the others |
| `seen_rejects` | images that only a worker could not read |
"""
