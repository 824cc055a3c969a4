"""Every way to read works with `tf.config.experimental.enable_op_determinism`, which refuses ops without a seed."""

from .training_fixtures import facts_of_all


def test_every_way_to_read_works_with_deterministic_ops(noise, mixed, tmp_path):
    (problems,) = facts_of_all("deterministic.py", [(noise, tmp_path / "result.json", mixed)])
    assert problems == dict.fromkeys(problems)
    assert len(problems) == 10
