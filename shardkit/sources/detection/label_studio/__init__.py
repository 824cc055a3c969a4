"""Label Studio's JSON exports. `tasks` parses a task, `regions` its boxes, `export` opens a file, `layout` lists."""
