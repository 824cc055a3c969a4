"""An unknown argument is answered with the one that was probably meant."""

import inspect

import pytest

from shardkit.errors import CallError, UnknownArgumentError
from shardkit.reader import BlockOrder, Cache, Images, Service, Skip, make_dataset, make_dataset_fn


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


def test_a_missing_argument_is_python_s_own_error():
    with pytest.raises(TypeError, match=r"make_dataset_fn\(\) missing .* 'global_batch_size'"):
        make_dataset_fn("nowhere", "train")


def test_make_dataset_takes_the_arguments_of_make_dataset_fn_and_the_number_of_the_worker():
    one, other = (inspect.signature(make).parameters for make in (make_dataset_fn, make_dataset))
    assert {name: other[name] for name in one} == dict(one)
    assert set(other) - set(one) == {"num_workers", "worker_index"}
    assert not [one for one in other.values() if one.kind is inspect.Parameter.VAR_KEYWORD]
