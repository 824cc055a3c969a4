"""Print the options of a command under several headings; click has only one."""

import click

from shardkit.cli.options.beam import BeamOptionsCommand

# Every option of `convert`, `plan` and `append` under its heading, in the order of `--help`.
OPTION_GROUPS = {
    "Source": (
        "--layout",
        "--root",
        "--path-prefix",
        "--image-column",
        "--label-column",
        "--label-separator",
        "--label-type",
        "--image-feature",
        "--label-feature",
        "--keep-truncated",
        "--label-pattern",
        "--class-level",
        "--unlabelled",
        "--ignore",
        "--where",
        "--drop",
        "--labels",
        "--key-prefix",
        "--readmit",
        "--classes",
    ),
    "Splits": ("--splits", "--splits-of", "--split-by", "--split-column", "--group-by", "--dedupe", "--seed"),
    "Shards": ("--shards", "--shard-size", "--input-pipelines"),
    "Images": (
        "--check",
        "--max-file-size",
        "--max-rejected",
        "--resize",
        "--max-side",
        "--size",
        "--fit",
        "--mask-padding",
        "--quality",
        "--jpeg",
        "--subsampling",
        "--strip-metadata",
    ),
    "Run": (
        "--name",
        "--skip-existing",
        "--overwrite",
        "--workers",
        "--explain",
        "--json",
        "--quiet",
        "--log-format",
    ),
}
LAST_GROUP = "Run"
NAME_COLUMNS = 28  # minimum width of the first column: click aligns each section separately


class GroupedCommand(BeamOptionsCommand):
    """A command whose help has one section for each of OPTION_GROUPS."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections; options without a heading, such as --help, go under the last one."""
        lines = {
            option.opts[0]: (f"{line[0]:<{NAME_COLUMNS}}", line[1])
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and (line := option.get_help_record(ctx))
        }
        for group, names in OPTION_GROUPS.items():
            section = [lines.pop(name) for name in names if name in lines]
            if group == LAST_GROUP:
                section += lines.values()
            with formatter.section(group):
                formatter.write_dl(section)
