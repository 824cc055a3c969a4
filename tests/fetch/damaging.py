"""Damage records of a dataset that was copied for one test."""


def damage(table, example_ids, folder=None):
    """Flip a bit in the data of each record; doing it again repairs them.

    Args:
        table: A record table of the dataset.
        example_ids: Rows of the table.
        folder: The folder with the copy, if the table is of another folder.
    """
    for example_id in example_ids:
        root, shard, _ = table.location(example_id)
        flip_bits(f"{root.path if folder is None else folder}/{shard.path}", int(table.offset[example_id]) + 40, 1)


def flip_bits(path, offset, mask):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(-1, 1)
        file.write(bytes([byte ^ mask]))
