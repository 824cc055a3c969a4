"""The only package that imports Beam: transforms that call the functions of the other packages, runners, progress.

Installed as `shardkit.pipelines`. What a conversion decides is in `writing`, what a check finds in `verification`;
neither belongs here.
"""

import logging

from shardkit.extras import require_extra

require_extra("convert", "Apache Beam's part of shardkit")
logging.disable(logging.WARNING)  # Beam prints "apitools not found" to everyone who does not use Google's APIs
try:
    import apache_beam  # noqa: F401 - loaded first and silently
finally:
    logging.disable(logging.NOTSET)
