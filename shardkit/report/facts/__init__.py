"""What a report counts: NumPy arrays whose size does not depend on the number of examples.

| module | contents |
|---|---|
| `bins` | histograms with logarithmic bins |
| `counting` | one pass over all examples: sizes, formats, changes, labels |
| `repeated` | examples with the same bytes: with different labels, in different splits |
| `choosing` | the classes and examples that the page shows |
| `annotations` | boxes, masks and numbers of a sample |
| `jpegs` | headers of a sample of JPEGs; the estimate of how fast training input is |
"""
