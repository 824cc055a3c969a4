"""Parallel work: one function for each of many items, in threads of this process or on a cluster.

| module | contents |
|---|---|
| `for_each` | `for_each`, through which every parallel step runs; the `Executor` that it needs; failures of workers |
| `threads` | the executor for this process; `beam.conversion` has the one for Beam |
| `reports` | results of the items, as files that the driver reads; a folder for commands without an output |
| `run_token` | one run at a time writes into a folder, and workers of an ended run stop |
| `detached` | jobs whose driver has left |
| `driver_view` | what workers on other hosts must share with the driver |
| `progress` | phases, how they are counted, and the interface of what shows them; counters of workers |

A new parallel step needs a function of an item and of a `Fence`, and no Beam. What the steps do belongs to their
packages: `writing`, `verification`, `adoption`, `doctor`.
"""
