"""Run a pipeline of a user on Beam's runner for one process, and look at what comes out."""

import apache_beam as beam

RUNNER = "apache_beam.runners.portability.fn_api_runner.FnApiRunner"
_FOUND = {}  # elements by name: what a closure holds is a copy, because Beam pickles it


def _keep(one, name):
    _FOUND[name].append(one)


def collected(made):
    """Return the elements of the PCollections, by name, that a function of a pipeline returns; and the counters."""
    pipeline = beam.Pipeline(RUNNER)
    for name, elements in made(pipeline).items():
        _FOUND[name] = []
        _ = elements | f"Keep {name}" >> beam.Map(_keep, name)
    result = pipeline.run()
    result.wait_until_finish()
    counters = {one.key.metric.name: one.committed for one in result.metrics().query()["counters"]}
    return {name: _FOUND.pop(name) for name in list(_FOUND)}, counters


def noting(append, sizes):
    """Beam's method that takes what is grouped; the sizes of the encoded elements go to a list, too."""

    def noted(self, elements_data):
        sizes.append(len(elements_data))
        append(self, elements_data)

    return noted
