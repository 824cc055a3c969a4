"""Whether memory grows with the data: peak memory of converting 5,000 and 50,000 photographs.

    python tests/benchmarks/bench_convert_memory.py --photos FOLDER

Needs about 110 kB of disk a photograph (5.5 GB for 50,000), below --work or the temporary folder; the sources are hard
links and need none. Peak memory is promised to be within 100 MB. At `--check header` it is not held by anything that
grows but paths and sizes; `--check decode` adds sizes and hashes.
"""

import argparse
import sys
from pathlib import Path

import sources
from timing import Contender, median, print_table, shardkit, turn_about, work_folder

PROMISED_MIB = 100e6 / (1 << 20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of JPEGs")
    parser.add_argument("--sizes", type=int, nargs=2, default=[5000, 50_000])
    parser.add_argument("--check", choices=["decode", "header"], nargs="+", default=["decode", "header"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--work", type=Path, help="default: a temporary folder")
    given = parser.parse_args()
    kept = True
    with work_folder(given.work) as work:
        out = work / "out"
        for check in given.check:
            contenders = []
            for size in given.sizes:
                source = sources.replicated(given.photos, work / f"links-{size}", size, hard_links=True)
                command = shardkit("convert", source, out, "--quiet", "--check", check)
                contenders.append(Contender(f"{size:,} photographs", command, out))
            runs = turn_about(contenders, given.rounds)
            if len(runs) < len(contenders):
                sys.exit(1)
            peaks = [median(runs[contender.name], lambda run: run.peak_mib) for contender in contenders]
            seconds = [median(runs[contender.name], lambda run: run.seconds) for contender in contenders]
            rows = [["", "peak MiB", "wall s"]]
            rows += [
                [contender.name, f"{peak:.0f}", f"{wall:.1f}"]
                for contender, peak, wall in zip(contenders, peaks, seconds, strict=True)
            ]
            rows.append(["more", f"{peaks[1] - peaks[0]:.0f}", ""])
            print_table(f"convert --check {check}; at most {PROMISED_MIB:.0f} MiB more are promised", rows)
            kept &= peaks[1] - peaks[0] <= PROMISED_MIB
    sys.exit(not kept)


if __name__ == "__main__":
    main()
