"""The warnings at the top of the page: what was found, and what to do. Pure functions over the facts.

| module | contents |
|---|---|
| `warning` | `Advice`: one warning |
| `classes`, `contents`, `speed` | the warnings by their subject |
"""
