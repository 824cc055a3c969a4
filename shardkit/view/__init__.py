"""A local page to look at a dataset and to decide what is wrong in it: `shardkit view`.

| module | contents |
|---|---|
| `rows` | the examples of all splits by number, read from the indexes a shard at a time |
| `lists` | which examples a list holds: filters, and the jobs that find them in the background |
| `queues` | examples that deserve a look: conflicting labels, copies, images unlike their class |
| `descriptors` | numbers that describe a picture, and how unlike its class they are |
| `fixes` | what was decided, in the files that `convert` reads |
| `pictures` | pictures with and without boxes and masks, the latest of them kept |
| `server`, `guard` | the routes of the page, and who may call them |

Nothing of a dataset is changed here: `convert OLD NEW` applies what was decided. Nothing about all examples is kept in
memory but numbers of a few bytes for each.
"""
