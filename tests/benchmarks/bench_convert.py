"""How long a conversion takes, compared with others' ways to turn the same folder of photographs into training files.

    python tests/benchmarks/bench_convert.py --photos FOLDER

FOLDER has class folders of JPEGs; it is replicated to 5,000 files. Every contender is a whole process, start-up and
imports included, and reads files that lie in the page cache. `beam floor` is one page of Beam without any promises:
what shardkit takes beyond it is the price of its promises. Peers that are not installed are left out.
"""

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path

import sources
from timing import Contender, print_table, process_table, python, shardkit, turn_about, work_folder

SHARDS = 10


def photo_contenders(source: Path, work: Path, *, slow_peers: bool) -> dict[str, list[Contender]]:
    """Contenders by title of the table; each title is run turn about on its own."""
    out = work / "out"

    def floor(mode: str) -> Contender:
        return Contender(f"beam floor, {mode}", python("beam_floor.py", source, out, mode, "--shards", SHARDS), out)

    def ours(name: str, floor_mode: str, target: str, *options: object) -> Contender:
        command = shardkit("convert", source, out, "--shards", SHARDS, "--quiet", *options)
        return Contender(f"shardkit {name}", command, out, against=f"beam floor, {floor_mode}", target=target)

    tar = shutil.which("tar")
    archive = work / "out.tar"
    headers = [Contender("tar cf", [tar, "cf", str(archive), "-C", str(source), "."], archive)] if tar else []
    peers = [
        ("array_record", Contender("array_record writer", python("array_record_writer.py", source, out), out)),
        ("webdataset", Contender("webdataset writer", python("webdataset_writer.py", source, out), out)),
        ("tensorflow", Contender("tutorial loop", python("tutorial_loop.py", source, out), out)),
        ("tensorflow", Contender("tutorial loop, shapes", python("tutorial_loop.py", source, out, "--shapes"), out)),
        ("tensorflow_datasets", Contender("TFDS builder", python("tfds_builder.py", source, out), out)),
    ]
    if slow_peers:
        peers.append(
            ("tensorflow_datasets", Contender("TFDS on Beam", python("tfds_builder.py", source, out, "--beam"), out))
        )
    headers += [contender for module, contender in peers if importlib.util.find_spec(module)]
    headers += [floor("header"), ours("--check header", "header", "1.05", "--check", "header")]
    return {
        "files copied, headers read": headers,
        "every image decoded once": [floor("decode"), ours("--check decode", "decode", "1.05", "--check", "decode")],
        "resized to 256": [
            floor("resize"),
            ours("--resize 256 --check header", "resize", "1.03", "--resize", "256", "--check", "header"),
        ],
    }


def small_contenders(source: Path, work: Path) -> list[Contender]:
    """Where the cost of a file counts, not that of its bytes."""
    out = work / "out"
    floor = Contender("beam floor, header", python("beam_floor.py", source, out, "header", "--shards", SHARDS), out)
    command = shardkit("convert", source, out, "--shards", SHARDS, "--quiet", "--check", "header")
    return [floor, Contender("shardkit --check header", command, out, against=floor.name, target="0.70")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path, required=True, help="class folders of JPEGs")
    parser.add_argument("--num-photos", type=int, default=5000)
    parser.add_argument("--num-small", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path, help="keep sources there for the next call; default: a temporary folder")
    parser.add_argument("--slow-peers", action="store_true", help="TFDS on Beam too: many seconds, gigabytes of memory")
    parser.add_argument("--only", choices=["header", "decode", "resize", "small"], help="one of the tables")
    given = parser.parse_args()
    with work_folder(given.work) as work:
        photos = sources.replicated(given.photos, work / f"photos-{given.num_photos}", given.num_photos)
        tables = photo_contenders(photos, work, slow_peers=given.slow_peers)
        chosen = dict(zip(("header", "decode", "resize"), tables.items(), strict=True))
        size = f"{given.num_photos:,} photographs of {sources.num_bytes(photos) / 1e6:,.0f} MB"
        failed = False
        for name, (title, contenders) in chosen.items():
            if given.only in {None, name}:
                runs = turn_about(contenders, given.rounds)
                print_table(f"{size}, {title}; medians of {given.rounds}", process_table(contenders, runs))
                failed |= len(runs) < len(contenders)
        if given.only in {None, "small"}:
            small = sources.small_jpegs(work / f"small-{given.num_small}", given.num_small)
            contenders = small_contenders(small, work)
            runs = turn_about(contenders, given.rounds)
            size = f"{given.num_small:,} small JPEGs of {sources.num_bytes(small) / 1e6:,.0f} MB"
            print_table(f"{size}; medians of {given.rounds}", process_table(contenders, runs))
            failed |= len(runs) < len(contenders)
    sys.exit(failed)


if __name__ == "__main__":
    main()
