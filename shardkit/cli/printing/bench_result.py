"""The result of `shardkit bench`, as tables and lines."""

from rich.table import Table

from shardkit.bench.advice import MIN_GAIN, NOTABLE_CORES, Advice, gain, sorted_advice, storage_binds
from shardkit.bench.measurements import Measurement
from shardkit.bench.result import BenchResult
from shardkit.cli.printing.lines import table
from shardkit.conversion.planning.sizing import format_size
from shardkit.naming import counted

Part = Table | str

WHOLE = "the whole input function"
_MEASURED = {"reading": "read", "decoding": "decode"}  # the prices of these stages are measurements of their own


def bench_parts(result: BenchResult) -> list[Part]:
    """Return what `bench` prints."""
    helpful, useless = sorted_advice(result.advice)
    return [
        *_heading(result),
        "",
        _stages(result),
        "",
        *_cold_lines(result),
        f"What binds: {result.binds}.",
        *_load_lines(result),
        *_advice_parts(result, helpful),
        *_no_gain_lines(result, useless),
        *_hosts_lines(result),
    ]


def _heading(result: BenchResult) -> list[str]:
    part, settings = result.plan.part, result.plan.settings
    height, width = settings.image_size
    size = format_size(round(part.bytes_per_image))
    dataset = f"{part.url}, split {part.split}: {counted(part.num_examples, 'example')} of {size}"
    wanted = (
        f"batches of {settings.batch_size:,}, images of {height} x {width}, {settings.dtype}, {settings.order} order"
    )
    lines = [f"{dataset}; {wanted}; {result.plan.host.cores:g} cores"]
    if part.part_examples < part.num_examples:
        shards = counted(len(part.shards), "shard")
        lines.append(f"Measured on {part.part_examples:,} of them ({shards}, {format_size(part.part_bytes)}).")
    return lines


def _stages(result: BenchResult) -> Table:
    made = table("stage", "images/s", "lowest to highest", "cores used", "CPU µs\nan image", "share of\nCPU time")
    for price in result.prices:
        measured = result.stages.get(_MEASURED.get(price.stage, ""))
        made.add_row(price.stage, *_rates(measured), f"{price.cpu_us:,.0f}", f"{price.share:.0%}")
    whole = result.stages["whole"]
    made.add_row(WHOLE, *_rates(whole), f"{whole.cpu_us:,.0f}", "")
    return made


def _rates(measured: Measurement | None) -> tuple[str, str, str]:
    if measured is None:
        return "", "", ""
    span = f"{measured.lowest:,.0f} to {measured.highest:,.0f}"
    return f"{measured.images_per_second:,.0f}", span, f"{measured.cores:.1f}"


def _cold_lines(result: BenchResult) -> list[str]:
    part, cold = result.plan.part, result.cold.measured
    lines = []
    if result.copy_rate is not None:
        per_second = result.copy_rate / part.bytes_per_image
        rate = format_size(round(result.copy_rate))
        lines.append(
            f"Copying from the store to the cache: {rate}/s, {per_second:,.0f} images/s; the rest is from copies."
        )
    if result.cold.missing:
        return [*lines, f"Cold: {result.cold.missing}."]
    read, whole = cold["read"].images_per_second, cold["whole"].images_per_second
    rate = format_size(round(read * part.bytes_per_image))
    line = f"Cold (empty page cache): reading {read:,.0f} images/s ({rate}/s), {WHOLE} {whole:,.0f} images/s"
    if "block" in cold:
        line += f", in block order {cold['block'].images_per_second:,.0f}"
    is_slow = storage_binds(result.stages["whole"], cold["whole"], result.plan.host)
    binds = ": the storage binds" if is_slow else ""
    lines.append(f"{line}{binds}.")
    if is_slow and "block" in cold and (factor := gain(cold["whole"], cold["block"], "rate")) >= MIN_GAIN:
        lines.append(f'Cold, order="block" gives {factor:.1f} times as many images.')
    if result.fits_memory is not None:
        size = format_size(part.num_bytes)
        lines.append(
            f"The split ({size}) fits into this host's memory: from the second epoch on, reading is warm."
            if result.fits_memory
            else f"The split ({size}) does not fit into this host's memory: the cold figures hold in every epoch."
        )
    return lines


def _load_lines(result: BenchResult) -> list[str]:
    whole = result.stages["whole"]
    if whole.other_cores is None or whole.other_cores < NOTABLE_CORES:
        return []
    used = f"Other programs used {whole.other_cores:.1f} of {result.plan.host.cores:g} cores meanwhile"
    if result.expected_rate == result.images_per_second:
        return [f"{used}."]
    cpu = f"by the CPU time of an image, {result.expected_rate:,.0f} images/s are expected without them"
    return [f"{used}: {cpu}. What follows starts from there."]


def _advice_parts(result: BenchResult, helpful: list[Advice]) -> list[Part]:
    if not result.advice:
        return []
    if not helpful:
        return ["", "Nothing that was tried gives more."]
    made = table("advice", "gain", "images/s", "an image", "write")
    made.columns[-1].justify = "left"
    for one in helpful:
        size = "" if one.bytes_per_image is None else format_size(round(one.bytes_per_image))
        where = "convert " if one.kind == "convert" else ""
        made.add_row(one.name, f"{one.gain:.1f} times", f"{one.images_per_second:,.0f}", size, where + one.argument)
    basis = "CPU time of an image" if helpful[0].figure == "cpu" else "images a second"
    sample = (
        f"; conversions were tried on {counted(result.plan.num_sample, 'image')}" if result.plan.conversions else ""
    )
    return ["", made, "", f"Gains are ratios of {basis}, each measured alone: they do not multiply{sample}."]


def _no_gain_lines(result: BenchResult, useless: list[Advice]) -> list[str]:
    lines = []
    if useless:
        lines.append(f"No gain: {', '.join(f'{one.name} ({one.gain:.2f})' for one in useless)}.")
    reasons: dict[str, list[str]] = {}
    for name, reason in result.plan.not_tried.items():
        reasons.setdefault(reason, []).append(name)
    return lines + [f"Not tried: {', '.join(names)}, because {reason}." for reason, names in reasons.items()]


def _hosts_lines(result: BenchResult) -> list[str]:
    if not result.hosts:
        return []
    now, *others = result.hosts.items()
    more = "".join(f"; with {name}: {number:,}" for name, number in others)
    target = f"{result.plan.settings.target:,.0f} images/s"
    return ["", f"{target} take {counted(now[1], 'host')} like this one{more}."]
