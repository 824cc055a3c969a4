"""The error for an unknown argument suggests the closest valid one."""

import inspect

import pytest

from shardkit.errors import CallError, SignatureError, UnknownArgumentError
from shardkit.reader import BlockOrder, Cache, Images, Service, Skip, make_dataset, make_dataset_fn
from shardkit.reader.arguments.other_apis import IMAGES_WORDS, READER_WORDS


@pytest.mark.parametrize("make", [make_dataset_fn, make_dataset])
@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("image_sise", "did you mean 'image_size'?"),
        ("trainning", "did you mean 'training'?"),
        ("crop_scale", "write images=reader.Images(crop_scale=...)"),
        ("crop_scales", "write images=reader.Images(crop_scale=...)"),
        ("lanes", "write order=reader.BlockOrder(lanes=...)"),
        ("max_records", "write on_corrupt=reader.Skip(max_records=...)"),
        ("max_bytes", "write cache=reader.Cache(max_bytes=...)"),
        ("cache_dir", "did you mean 'cache'?"),
        ("zzz", "it takes dataset, split, global_batch_size"),
    ],
)
def test_a_word_that_is_close(make, given, remedy):
    with pytest.raises(UnknownArgumentError) as caught:
        make("nowhere", "train", global_batch_size=8, **{given: 1})
    assert str(caught.value).startswith(f"{make.__name__}() has no argument {given!r}; {remedy}")
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, CallError)


@pytest.mark.parametrize(
    ("make", "given", "meant"),
    [
        (lambda **given: Images((8, 8), **given), "grey_scale", "grayscale"),
        (BlockOrder, "lane", "lanes"),
        (Skip, "max_record", "max_records"),
        (Cache, "max_byte", "max_bytes"),
        (Service, "adress", "address"),
    ],
)
def test_value_objects_know_theirs_too(make, given, meant):
    with pytest.raises(UnknownArgumentError, match=f"did you mean '{meant}'"):
        make(**{given: 1})


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        (
            lambda **given: make_dataset_fn("nowhere", "train", global_batch_size=8, **given),
            "shuffle",
            "training=True ",
        ),
        (lambda **given: make_dataset("nowhere", "train", global_batch_size=8, **given), "repeat", "training=True "),
        (lambda **given: make_dataset_fn("nowhere", "train", global_batch_size=8, **given), "rescale", "mean=127.5"),
        (lambda **given: Images((8, 8), **given), "rescale", "mean=0, std=255"),
    ],
)
def test_an_argument_known_from_other_readers_is_answered_with_what_serves_here(make, given, said):
    with pytest.raises(UnknownArgumentError, match=f"has no argument '{given}': .*{said}"):
        make(**{given: 1})


def test_no_answer_is_for_an_argument_that_exists():
    for words, make in ((READER_WORDS, make_dataset), (IMAGES_WORDS, Images)):
        assert not set(words) & set(inspect.signature(make).parameters)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: make_dataset_fn("nowhere"), r"make_dataset_fn\(\) missing .* 'split'; .*'OUT', 'train', global_batch"),
        (
            lambda: make_dataset_fn("nowhere", "train"),
            r"make_dataset_fn\(\) missing .* 'global_batch_size'; write it as",
        ),
        (
            lambda: make_dataset("nowhere", "train", 8),
            r"make_dataset\(\) takes dataset and split by position, all others",
        ),
        (lambda: Images(8, 8), r"Images\(\) takes size by position, all others by name; write it as in reader.Images"),
    ],
)
def test_a_call_that_lacks_an_argument_or_a_name_is_answered_with_a_call(call, said):
    with pytest.raises(SignatureError, match=said) as caught:
        call()
    assert isinstance(caught.value, TypeError)


def test_make_dataset_takes_the_arguments_of_make_dataset_fn_and_the_number_of_the_worker():
    one, other = (inspect.signature(make).parameters for make in (make_dataset_fn, make_dataset))
    assert {name: other[name] for name in one} == dict(one)
    assert set(other) - set(one) == {"num_workers", "worker_index"}
    assert not [one for one in other.values() if one.kind is inspect.Parameter.VAR_KEYWORD]
