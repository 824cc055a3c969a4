"""The page of a report.

| module | contents |
|---|---|
| `parts` | what sections are made of: charts, tables, pictures |
| `sections` | the sections about classes, sizes, storage and origin |
| `shards_section` | the balance of the shards |
| `annotation_sections` | the sections about boxes, masks, numbers and several labels |
| `picture_sections` | the sections with pictures: contact sheets, duplicates, rejected files; thumbnails |
| `class_table` | the searchable table of classes, within a total size |
| `html` | all warnings, the most serious first; the template, the content security policy, and saving |
"""
