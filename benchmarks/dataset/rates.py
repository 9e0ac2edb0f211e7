"""Rates and memory of dataset builds, and of the programs that others use for it, on the same files and cores.

    python benchmarks/dataset/rates.py FOLDER/*.jsonl.zst --tokenizer tokenizer.json --what parts build
    python benchmarks/dataset/rates.py FOLDER/*.jsonl.zst --tokenizer tokenizer.json --what datatrove megatron
    python benchmarks/dataset/rates.py FOLDER/*.jsonl.zst --what memory
    python benchmarks/dataset/rates.py FOLDER/*.jsonl.zst --what ray
    python benchmarks/dataset/rates.py FOLDER/*.jsonl.zst --what formats

parts: decompression (zstd), JSON (json.loads of each line) and encoding (encode_ragged), each by itself, in
memory, with one process for each core; the rate of all three is that of their times together. build: dataset.build
from the files to a finished folder, with the start of its workers. datatrove: JsonlReader and DocumentTokenizer,
without shuffling, one task for each core. megatron: the loop of tools/preprocess_data.py with a tokenizer of Hugging
Face, a pool of one process for each core that returns lists of ids, and one writer (IndexedDatasetBuilder.add_item
and end_document, with NumPy in place of torch); it is written here after the program, which no package has. ray: one
actor against two. memory: the largest resident set of each worker, above that of a process that has loaded the
vocabulary and encoded a megabyte. formats: build, for each format of the shards; all ids are compared with bin's.

Each is run --rounds times in turn, and the fastest counts. Rates are MB of text (JSON lines, unpacked) a second.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import pathlib
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Any

from backports import zstd

CORES = len(os.sched_getaffinity(0))


def unpacked(path: str) -> bytes:
    """The JSON lines of a file."""
    with open(path, "rb") as file:
        return zstd.decompress(file.read())


# ==== in processes ====


def share(files: list[str], work: Callable[..., Any], *arguments: Any) -> list[Any]:
    """work(its files, wait, *arguments) in a process for each core. Each calls wait() when it is ready to be timed."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(CORES)
    results = context.Queue()
    crew = [
        context.Process(target=_in_process, args=(work, files[i::CORES], barrier, results, arguments))
        for i in range(CORES)
    ]
    for each in crew:
        each.start()
    found = [results.get() for _ in crew]
    for each in crew:
        each.join()
    return found


def _in_process(work: Any, files: list[str], barrier: Any, results: Any, arguments: Any) -> None:
    results.put(work(files, barrier.wait, *arguments))


# ==== parts ====


def load(tokenizer: str) -> Any:
    """The encoding; it has encoded a megabyte."""
    from streamtok._named import load_encoding

    encoding = load_encoding(tokenizer, ".")
    encoding.encode_to_numpy("warm words " * 100_000)
    return encoding


def time_parts(files: list[str], wait: Callable[[], Any], tokenizer: str) -> tuple[int, list[float]]:
    """Bytes, and the seconds of each part."""
    encoding, seconds, size = load(tokenizer), [0.0, 0.0, 0.0], 0
    wait()
    for path in files:
        times = [time.perf_counter()]
        data = unpacked(path)
        times.append(time.perf_counter())
        texts = [json.loads(line)["text"] for line in data.splitlines()]
        times.append(time.perf_counter())
        encoding.encode_ragged(texts, num_threads=1)
        times.append(time.perf_counter())
        size += len(data)
        seconds = [total + b - a for total, a, b in zip(seconds, times, times[1:])]
    return size, seconds


def parts(files: list[str], tokenizer: str) -> dict[str, float]:
    """MB/s of each part, and of all."""
    found = share(files, time_parts, tokenizer)
    rates = {
        name: sum(size / seconds[i] for size, seconds in found) / 1e6
        for i, name in enumerate(("decompression", "json", "encoding"))
    }
    return {**rates, "parts": sum(size / sum(seconds) for size, seconds in found) / 1e6}


# ==== streamtok ====


def build(files: list[str], tokenizer: str, size: int, home: str) -> dict[str, float]:
    """MB/s of dataset.build."""
    from streamtok import dataset

    spec = dataset.Spec(tuple(files), home, encoding=tokenizer, append_eot=True)
    began = time.perf_counter()
    dataset.build(spec, workers=CORES)
    return {"build": size / (time.perf_counter() - began) / 1e6}


def ray(files: list[str], tokenizer: str, size: int, home: str) -> dict[str, float]:
    """MB/s of streamtok.ray.build with one worker and with one a core, on a cluster that is there; from the first shard
    that is done to the last."""
    import ray as cluster

    import streamtok.ray
    from streamtok import dataset

    if not cluster.is_initialized():
        cluster.init(num_cpus=CORES, include_dashboard=False, log_to_driver=False)
    rates = {}
    for workers in (1, CORES):
        spec = dataset.Spec(tuple(files), f"{home}/{workers}", encoding=tokenizer, append_eot=True)
        seen: list[Any] = []
        streamtok.ray.build(spec, workers=workers, progress=seen.append)
        first, last = seen[workers - 1], seen[-1]
        share = (last.bytes_read - first.bytes_read) / last.bytes_total
        rates[f"ray {workers}"] = size * share / (last.seconds - first.seconds) / 1e6
    return rates


def formats(files: list[str], tokenizer: str, size: int, home: str) -> dict[str, float]:
    """MB/s of dataset.build into each format."""
    from streamtok import dataset

    rates, wanted = {}, ""
    for name in ("bin", "datatrove", "dolma", "megatron", "mds", "litdata", "arrow", "parquet"):
        spec = dataset.Spec(tuple(files), f"{home}/{name}", encoding=tokenizer, append_eot=True, format=name)
        began = time.perf_counter()
        dataset.build(spec, workers=CORES)
        rates[name] = size / (time.perf_counter() - began) / 1e6
        found = hash_of_ids(spec.folder)
        wanted = wanted or found
        if found != wanted:
            raise SystemExit(f"{name}: these are not the ids of bin")
        shutil.rmtree(spec.folder)
    return rates


def hash_of_ids(folder: str) -> str:
    """A hash of the ids of all documents, in the order of the plan."""
    from streamtok.dataset import read_dataset
    from streamtok.dataset.reading import open_shard

    digest, dataset = hashlib.sha256(), read_dataset(folder)
    for shard in dataset.shards:
        for ids in open_shard(folder, dataset, shard):
            digest.update(ids.astype("<u4").tobytes())
    return digest.hexdigest()


# ==== others ====


def datatrove(files: list[str], tokenizer: str, size: int, home: str) -> dict[str, float]:
    """MB/s of datatrove's own tokenizing step."""
    found = share(files, time_datatrove, tokenizer, home)
    return {"datatrove": size / max(found) / 1e6}


def time_datatrove(files: list[str], wait: Callable[[], Any], tokenizer: str, home: str) -> float:
    os.environ["RAYON_NUM_THREADS"] = "1"
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    folder = os.path.dirname(files[0])
    reader = JsonlReader(folder, paths_file=_listed(files, home), compression="zstd", id_key="id")
    step = DocumentTokenizer(f"{home}/{os.getpid()}", tokenizer, shuffle_documents=False)
    step.tokenizer.encode("warm")
    wait()
    began = time.perf_counter()
    step.run(reader.run(None, 0, 1), 0, 1)
    return time.perf_counter() - began


def _listed(files: list[str], home: str) -> str:
    path = pathlib.Path(home) / f"{os.getpid()}.txt"
    path.write_text("".join(f"{os.path.basename(each)}\n" for each in files))
    return str(path)


def megatron(files: list[str], tokenizer: str, size: int, home: str) -> dict[str, float]:
    """MB/s of the loop of Megatron's preprocess_data."""
    import numpy as np

    with multiprocessing.get_context("spawn").Pool(CORES, _begin_megatron, (tokenizer,)) as pool:
        pool.map(_encode_megatron, ['{"text": "warm"}'] * 64)
        began = time.perf_counter()
        lengths: list[int] = []
        documents = [0]
        with open(f"{home}/text_document.bin", "wb") as out:
            for path in files:
                lines = unpacked(path).decode().splitlines()
                for ids, _ in pool.imap(_encode_megatron, lines, 32):
                    array = np.array(ids, np.int32)
                    out.write(array.tobytes(order="C"))
                    lengths.append(array.size)
                    documents.append(len(lengths))
        np.array(lengths, np.int32).tofile(f"{home}/text_document.idx")
        return {"megatron": size / (time.perf_counter() - began) / 1e6}


_tokenizer: Any = None


def _begin_megatron(tokenizer: str) -> None:
    global _tokenizer
    os.environ["RAYON_NUM_THREADS"] = "1"
    from tokenizers import Tokenizer

    _tokenizer = Tokenizer.from_file(tokenizer)


def _encode_megatron(line: str) -> tuple[list[int], int]:
    ids = _tokenizer.encode(json.loads(line)["text"]).ids
    ids.append(0)  # the end of the document
    return ids, len(line)


# ==== memory ====


def memory(files: list[str], tokenizer: str, size: int, home: str) -> dict[str, float]:
    """MB of resident memory that a worker takes at most, above those of the vocabulary."""
    found = share(files, measure_memory, tokenizer, home)
    return {"worker's memory, MB": max(found)}


def measure_memory(files: list[str], wait: Callable[[], Any], tokenizer: str, home: str) -> float:
    from streamtok import dataset
    from streamtok.dataset.build import work

    encoding = load(tokenizer)
    spec = dataset.Spec(tuple(files), home, encoding=tokenizer, append_eot=True)
    os.makedirs(home, exist_ok=True)
    before = _peak()
    for path in files:
        work(spec, dataset.Shard(path, None, 0), encoding=encoding)
    return (_peak() - before) / 1e3


def _peak() -> int:
    """KB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--tokenizer", default="o200k_base")
    parser.add_argument("--what", nargs="+", default=["parts", "build"], choices=list(_MEASURES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--home", help="where outputs go", default=None)
    chosen = parser.parse_args()
    files = [os.path.abspath(each) for each in chosen.files]
    if os.path.exists(chosen.tokenizer):
        chosen.tokenizer = os.path.abspath(chosen.tokenizer)
    size = sum(len(unpacked(each)) for each in files)
    best: dict[str, float] = {}
    for number in range(chosen.rounds):
        for what in chosen.what:
            with tempfile.TemporaryDirectory(dir=chosen.home) as home:
                found = _MEASURES[what](files, chosen.tokenizer, size, f"{home}/out")
            for name, value in found.items():
                best[name] = max(best.get(name, 0.0), value)
            print(number, json.dumps({name: round(value, 1) for name, value in found.items()}), flush=True)
    print(json.dumps({name: round(value, 1) for name, value in best.items()}))


def _parts(files: list[str], tokenizer: str, size: int, home: str) -> dict[str, float]:
    return parts(files, tokenizer)


def _made(measure: Callable[..., dict[str, float]]) -> Callable[..., dict[str, float]]:
    def run(files: list[str], tokenizer: str, size: int, home: str) -> dict[str, float]:
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        return measure(files, tokenizer, size, home)

    return run


_MEASURES: dict[str, Callable[..., dict[str, float]]] = {
    "parts": _parts,
    "build": _made(build),
    "ray": _made(ray),
    "formats": _made(formats),
    "datatrove": _made(datatrove),
    "megatron": _made(megatron),
    "memory": _made(memory),
}


if __name__ == "__main__":
    main()
