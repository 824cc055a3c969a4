"""`shardkit report`: one HTML page about a dataset, or about a source before its conversion.

| module | contents |
|---|---|
| `collection` | the interface of what a report is about: columns of its examples, pictures, rejected files |
| `dataset_collection`, `source_collection` | a dataset, from its indexes; a source, from its plan |
| `facts` | what is counted: pure functions over columns |
| `advice` | the warnings at the top of the page, each with what to do |
| `charts` | SVG charts that follow the page's colours |
| `page` | the page: thumbnails, tables, template |

Not here: statistics that `info` prints too (`statistics`), and drawing boxes and masks (`records`).
"""
