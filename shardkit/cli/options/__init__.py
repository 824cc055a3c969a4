"""Define the options that several commands share: names, help, and how a command line with Beam's options is read.

| module | contents |
|---|---|
| `conversion` | the options of `convert` and `plan`, as arguments of `shardkit.api`; commands that have them |
| `config_file` | options in a file: read, and written |
| `output` | the option `--log-format`, and the type of `--output`: a file whose folder is there |
| `beam` | a command line whose last options may be those of Apache Beam |

Options of one command are in the command's module.
"""
