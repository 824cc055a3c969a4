"""The page of a report.

| module | contents |
|---|---|
| `parts` | what sections are made of: charts, tables, pictures |
| `sections` | the sections about classes, sizes, storage and origin |
| `shards_section` | the balance of the shards |
| `annotation_sections` | the sections about boxes, masks, numbers and several labels |
| `picture_sections` | the sections with contact sheets and rejected files |
| `copies_sections` | the sections about copies with different labels or in several splits |
| `thumbnails` | pictures as data URIs, as large as the page allows |
| `class_table` | the searchable table of classes, within a total size |
| `html` | the page of a dataset or a source, and all warnings, the most serious first |
| `diff_page` | the page of two datasets that differ |
| `template` | the template, the content security policy, and saving |
"""
