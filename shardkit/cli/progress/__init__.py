"""Show the progress of a command on standard error; `shardkit.cli.terminal.Terminal` chooses how.

| module | contents |
|---|---|
| `measure` | done, rate and time left of a phase, from the numbers that it reports |
| `text` | these as one line, for a terminal of any width and for a log |
| `displays` | the live line of a terminal, plain lines for a pipe, JSON lines for schedulers |
| `json_log` | one JSON object a line: progress, messages, errors, log records |
"""
