"""Show the progress of a command on standard error; `shardkit.cli.terminal.Terminal` chooses how.

| module | contents |
|---|---|
| `measure` | done, rate and time left of a phase, from the numbers that it reports; these as one line |
| `displays` | the live line of a terminal, plain lines for a pipe, JSON lines for schedulers |
"""
