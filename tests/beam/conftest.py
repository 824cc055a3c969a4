from ..cli.conftest import dataset, source

__all__ = ["dataset", "source"]
