"""Options of the Java job servers that Beam's Python part does not know and passes on.

Flink's are the ones that a job server of Beam 2.70 describes; Spark's are the getters of SparkCommonPipelineOptions and
SparkPipelineOptions of that version, in snake case. Beam asks the job server for its options when a job is submitted,
and drops the names that it does not have with a warning only: so a misspelled one has to be refused before.
"""

from collections.abc import Collection, Sequence

from shardkit.doctor.engine import engine_kind

_FLINK = """
allow_non_restored_state attached_mode auto_balance_write_files_sharding_enabled auto_watermark_interval
checkpoint_timeout_millis checkpointing_interval checkpointing_mode disable_metrics enable_stable_input_drain
execution_mode_for_batch execution_retry_delay externalized_checkpoints_enabled fail_on_checkpointing_errors
faster_copy file_input_split_max_size_m_b finish_bundle_before_checkpointing flink_conf_dir force_slot_sharing_group
force_unaligned_checkpoint_enabled job_check_interval_in_secs latency_tracking_interval max_bundle_size
max_bundle_time_mills min_pause_between_checkpoints num_concurrent_checkpoints number_of_execution_retries
object_reuse operator_chaining re_iterable_group_by_key_result report_checkpoint_duration
retain_externalized_checkpoints_on_cancellation savepoint_path shutdown_sources_after_idle_ms state_backend
state_backend_factory state_backend_storage_path unaligned_checkpoint_enabled use_data_stream_for_batch
"""
_SPARK = """
batch_interval_millis bundle_size cache_disabled checkpoint_dir checkpoint_duration_millis enable_spark_metric_sinks
max_records_per_batch min_read_time_millis prefer_group_by_key_to_handle_huge_values read_time_percentage
storage_level
"""
_PORTABLE = """
enable_heap_dumps environment_expiration_millis load_balance_bundles retain_docker_containers semi_persist_dir
"""
_BY_KIND = {"flink": _FLINK + _PORTABLE, "spark": _SPARK + _PORTABLE, "portable": _FLINK + _SPARK + _PORTABLE}


def job_server_options(runner: str | None) -> frozenset[str]:
    """Return the options of the job server that a runner talks to."""
    return frozenset(f"--{name}" for name in _BY_KIND.get(engine_kind(runner), "").split())


def without(flags: Sequence[str], names: Collection[str]) -> list[str]:
    """Return a command line without some options and their values, written as ``--name=value`` or ``--name value``."""
    left, drops_value = [], False
    for flag in flags:
        if flag.split("=")[0] in names:
            drops_value = "=" not in flag
            continue
        if not (drops_value and not flag.startswith("-")):
            left.append(flag)
        drops_value = False
    return left
