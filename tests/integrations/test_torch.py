"""TokenDataset and TokenLoader: the same batches for any number of workers and ranks, from any place on."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils.data import DataLoader  # noqa: E402

from streamtok.files.formats import open_documents  # noqa: E402
from streamtok.integrations import tokens  # noqa: E402
from streamtok.integrations.order import Order, permutation  # noqa: E402
from streamtok.integrations.torch import TokenDataset, TokenLoader  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),  # more workers than cores
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]

SIZES = [[3, 0, 17, 1, 8], [], [40, 2, 2, 0], [5], [0], [11, 30, 6, 1, 1, 1]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """(paths, documents): ids count from 0 on, so that each says where it lies."""
    folder, documents, at = tmp_path_factory.mktemp("ids"), [], 0
    paths = []
    for number, sizes in enumerate(SIZES):
        paths.append(folder / f"{number}.bin")
        own = [
            np.arange(at + end - size, at + end, dtype="<u4") for size, end in zip(sizes, itertools.accumulate(sizes))
        ]
        np.concatenate([np.zeros(0, "<u4"), *own]).tofile(paths[-1])
        np.array(list(itertools.accumulate(sizes)), "<u8").tofile(f"{paths[-1]}.ends")
        at += sum(sizes)
        documents += own
    assert len(open_documents(paths[2])) == 4
    return paths, [each.tolist() for each in documents]


def dataset(files, length=7, **options):
    return TokenDataset(files[0], length, **{"batch_size": 2, "dtype": "uint32"} | options)


def plain(batches) -> list[dict[str, list]]:
    return [{name: tensor.tolist() for name, tensor in batch.items()} for batch in batches]


def test_rows_are_all_ids_in_order(files):
    ids = list(itertools.chain.from_iterable(files[1]))
    for length, overlap in [(7, 0), (5, 1), (1, 0), (len(ids), 0), (40, 39)]:
        made = dataset(files, length, overlap=overlap, batch_size=3)
        rows = [row for batch in plain(made) for row in batch["input_ids"]]
        step = length - overlap
        assert rows == [ids[at : at + length] for at in range(0, len(ids) - length + 1, step)]
        assert len(made) == -(-len(rows) // 3) and made.epoch == 1


def test_rows_say_where_documents_begin(files):
    begins = {document[0] for document in files[1] if document}
    for batch in dataset(files, 9, documents=True):
        flat = batch["input_ids"].ravel().tolist()
        starts = [at for at, token in enumerate(flat) if token in begins or at % 9 == 0]
        assert batch["cu_seqlens"].tolist() == [*starts, len(flat)] and batch["cu_seqlens"].dtype == torch.int32
        want = [at - max(start for start in starts if start <= at) for at in range(len(flat))]
        assert (
            batch["position_ids"].ravel().tolist() == want and batch["position_ids"].shape == batch["input_ids"].shape
        )


def test_formats_that_have_no_row_of_all_ids(files, monkeypatch):
    def opened(*arguments):
        made = open_documents(*arguments)
        made.ids = None
        return made

    want = [plain(dataset(files, length, documents=True, shuffle=5)) for length in (1, 9, 128)]
    monkeypatch.setattr(tokens, "open_documents", opened)
    assert [plain(dataset(files, length, documents=True, shuffle=5)) for length in (1, 9, 128)] == want


def test_documents_as_samples(files):
    made = plain(dataset(files, None, batch_size=4, shuffle=5, seed=3))
    found = [
        batch["input_ids"][a:b] for batch in made for a, b in itertools.pairwise(batch["cu_seqlens"])
    ]  # fmt: skip
    assert sorted(each for each in found if each) == sorted(document for document in files[1] if document)
    assert found != [document for document in files[1] if document]
    for batch in made:
        sizes = np.diff(batch["cu_seqlens"])
        assert batch["position_ids"] == [i for size in sizes for i in range(size)]


@pytest.mark.parametrize("options", [{"shuffle": 0}, {"shuffle": 6, "seed": 5}, {"shuffle": 1000, "drop_last": True}])
def test_any_number_of_workers_gives_the_same_batches(files, options):
    want = plain(dataset(files, **options))
    for workers in (1, 2, 3):
        assert plain(DataLoader(dataset(files, **options), batch_size=None, num_workers=workers)) == want
    loader = TokenLoader(pickle.loads(pickle.dumps(dataset(files, **options))), num_workers=2)
    assert plain(loader) == want  # as a worker that is no fork gets it
    assert (want == plain(loader)) is (options["shuffle"] == 0)  # the second epoch


def test_ranks_together_give_what_one_gives(files):
    options = {"shuffle": 9, "seed": 1, "drop_last": True, "batch_size": 2}
    want = plain(dataset(files, **options))
    for world in (2, 3):
        ranks = [plain(dataset(files, **options, rank=rank, world_size=world)) for rank in range(world)]
        assert len({len(each) for each in ranks}) == 1
        together = [batch for step in zip(*ranks) for batch in step]
        assert together == want[: len(together)] and len(want) - len(together) < world


def test_it_goes_on_exactly_where_it_stood(files):
    options = {"shuffle": 11, "seed": 2, "drop_last": True}
    one = dataset(files, **options)
    want = [*plain(one), *plain(one)]
    for taken in range(0, len(want), 3):
        loader = TokenLoader(dataset(files, **options), num_workers=taken % 3)
        first = plain(itertools.islice(itertools.chain(loader, loader), taken))
        assert first == want[:taken]
        state = json.loads(json.dumps(loader.state_dict()))
        again = TokenLoader(dataset(files, **options), num_workers=2 - taken % 3)
        again.load_state_dict(state)
        assert plain(itertools.chain(again, again))[: len(want) - taken] == want[taken:]
        if taken % 2 == 0 and taken < len(one):  # on two ranks
            parts = [dataset(files, **options, rank=rank, world_size=2) for rank in (0, 1)]
            for part in parts:
                part.load_state_dict(state)
            together = [batch for step in zip(*map(plain, parts)) for batch in step]
            assert together == want[taken : taken + len(together)]


def test_a_worker_resumes_from_its_own_state(files, monkeypatch):
    """As torchdata's StatefulDataLoader does: each worker saves and loads a state by itself."""
    import streamtok.integrations.torch as module

    want = plain(dataset(files))
    for worker in (0, 1, 2):
        info = type("Info", (), {"id": worker, "num_workers": 3})
        monkeypatch.setattr(module, "get_worker_info", lambda info=info: info)
        made = dataset(files)
        first = plain(itertools.islice(iter(made), 2))
        again = dataset(files)
        again.load_state_dict(pickle.loads(pickle.dumps(made)).state_dict())
        assert first + plain(again) == want[worker::3]


def test_the_buffer_mixes_and_keeps_every_sample():
    for count, buffer in itertools.product((1, 2, 63, 64, 65, 1000), (1, 2, 64, 300, 5000)):
        order = Order(count, buffer, 7, 0)
        whole = order.samples(0, count).tolist()
        assert sorted(whole) == list(range(count))
        for first, last in [(0, 1), (count // 2, count), (count // 3, count // 3 + 1)]:
            assert Order(count, buffer, 7, 0).samples(first, last).tolist() == whole[first:last]
    far = Order(1000, 128, 7, 0).samples(0, 128)
    assert len({sample // 100 for sample in far.tolist()}) == 10  # a buffer has samples from everywhere
    assert (
        Order(1000, 128, 7, 1).samples(0, 128).tolist()
        != far.tolist()
        != Order(1000, 128, 8, 0).samples(0, 128).tolist()
    )
    assert permutation(8, 1, 2).tolist() == [int(each) for each in PERMUTATION]  # for good: states hang on it


PERMUTATION = "56321047"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"length": 0}, "length=0: write an int, 1 or more"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"shuffle": -1}, "shuffle=-1: write an int, 0 or more"),
        ({"seed": 1.5}, "seed=1.5"),
        ({"overlap": 7}, "overlap=7 and length=7"),
        ({"length": None, "overlap": 1}, "overlap=1 and length=None"),
        ({"length": 500}, "128 ids in 17 documents are not enough: .* a sample is 500 ids"),
        ({"rank": 1}, "go together"),
        ({"rank": 2, "world_size": 2}, "ranks count from 0 to world_size - 1"),
        ({"rank": 0, "world_size": 2}, "write drop_last=True"),
    ],
)
def test_what_is_refused(files, options, what):
    with pytest.raises(ValueError, match=what):
        dataset(files, **options)


def test_states_and_options_that_are_refused(files, tmp_path):
    with pytest.raises(ValueError, match="another dataset: its batch is 2, and this one's 3"):
        dataset(files, batch_size=3).load_state_dict(dataset(files).state_dict())
    with pytest.raises(ValueError, match="its files is"):
        TokenDataset(files[0][2:], 7, batch_size=2, dtype="uint32").load_state_dict(dataset(files).state_dict())
    state = dataset(files).state_dict() | {"batches": 3}
    with pytest.raises(ValueError, match="3 batches were given, which 2 ranks cannot share"):
        dataset(files, rank=0, world_size=2, drop_last=True).load_state_dict(state)
    with pytest.raises(ValueError, match="the dataset makes the batches"):
        TokenLoader(dataset(files), batch_size=4)
    for wrong in ({"persistent_workers": True, "num_workers": 1}, {"in_order": False}):
        with pytest.raises(ValueError, match="leave them out"):
            TokenLoader(dataset(files), **wrong)
    with pytest.raises(ValueError, match="paths are empty"):
        TokenDataset([], 4)
    with pytest.raises(ValueError, match="epoch=-1"):
        dataset(files).set_epoch(-1)
    path = tmp_path / "a.bin"
    np.arange(9, dtype="<u4").tofile(path)
    np.array([9], "<u8").tofile(f"{path}.ends")
    made = pickle.dumps(TokenDataset(path, 3))
    np.arange(12, dtype="<u4").tofile(path)
    np.array([12], "<u8").tofile(f"{path}.ends")
    with pytest.raises(ValueError, match="has changed since it was opened"):
        pickle.loads(made)
