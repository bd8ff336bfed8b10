"""Dense retrieval, with a tiny encoder that is made here: nearest is what brute force finds."""

import random
import warnings

import numpy as np
import pytest
import torch
import transformers
from needs import needs

from gem_core.errors import ConfigError, DataError
from gem_tools.search import make_backend
from gem_tools.search.index import IndexOptions, open_retriever
from gem_tools.search.passages import Passages

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of its bindings, on newer Pythons
    faiss = needs("faiss")

torch.set_num_threads(1)  # so small a model only loses by more
WORDS = [f"w{number}" for number in range(300)]


def texts(count, seed=0):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(3, 30))) for _ in range(count)]


@pytest.fixture(scope="module")
def save_encoder(tmp_path_factory):
    """Make a tiny BERT with random weights, and return its folder."""

    def save(name):
        from tokenizers import Tokenizer, models, pre_tokenizers

        folder = tmp_path_factory.mktemp("models") / name
        vocabulary = {word: n for n, word in enumerate(["[PAD]", "[UNK]", "query", ":", *WORDS])}
        special = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
        tokenizer = Tokenizer(models.WordLevel(vocabulary, special["unk_token"]))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(
            folder
        )
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
            initializer_range=0.3,
        )
        transformers.BertModel(config).save_pretrained(folder)
        return str(folder)

    return save


@pytest.fixture(scope="module")
def encoder(save_encoder):
    return save_encoder("tiny")


def options(model, **more):
    return IndexOptions(kind="dense", model=model, **more)


def pooled(model, text, pooling="mean"):
    """Encode one text by itself, as the documentation of such models says."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    bert = transformers.AutoModel.from_pretrained(model).eval()
    with torch.no_grad():
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=64)
        states = bert(**tokens).last_hidden_state[0]
    return (states[0] if pooling == "cls" else states.mean(0)).numpy()


def unit(vector):
    return vector / np.linalg.norm(vector)


def test_an_encoder_pools_each_text_without_its_padding(encoder):
    from gem_tools.search.encoder import Encoder

    some = texts(40)
    found = Encoder(encoder).encode(some, is_query=True)
    expected = np.stack([unit(pooled(encoder, text)) for text in some])
    assert found.shape == (40, 32)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "query", "passage", "pooling", "length_one"),
    [
        ("e5-tiny", "query: w1", "passage: w1", "mean", True),
        (
            "bge-tiny",
            "Represent this sentence for searching relevant passages: w1",
            "w1",
            "cls",
            True,
        ),
        ("dpr-tiny", "w1", "w1", "cls", False),
        ("code5", "w1", "w1", "mean", True),
    ],
)
def test_a_model_is_used_as_its_family_was_trained(
    save_encoder, name, query, passage, pooling, length_one
):
    from gem_tools.search.encoder import Encoder

    model = save_encoder(name)
    encoder = Encoder(model)
    for text, is_query in ((query, True), (passage, False)):
        expected = pooled(model, text, pooling)
        expected = unit(expected) if length_one else expected
        (found,) = encoder.encode(["w1"], is_query=is_query)
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    import json

    path = tmp_path_factory.mktemp("corpus") / "corpus.jsonl"
    rows = [{"title": f"T{n}", "text": text} for n, text in enumerate(texts(1000))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("kind", "recall"), [("flat", 1.0), ("ivf", 0.7), ("hnsw", 0.95)])
def test_each_index_finds_what_brute_force_finds(encoder, corpus, tmp_path, kind, recall):
    from gem_tools.search.encoder import Encoder

    passages = [passage["contents"] for passage in Passages.open(corpus)]
    queries = texts(50, seed=1)
    model = Encoder(encoder)
    vectors = model.encode(passages, is_query=False)
    similar = model.encode(queries, is_query=True) @ vectors.T
    retriever = open_retriever(corpus, options(encoder, faiss=kind), index_path=tmp_path / kind)
    shares = []
    for query, similarities, hits in zip(
        queries, similar, retriever.search(queries, 10), strict=True
    ):
        numbers = [int(passage["title"][1:]) for passage, _ in hits]
        best = np.argsort(-similarities)[:10]
        shares.append(len(set(numbers) & set(best.tolist())) / 10)
        scores = [score for _, score in hits]
        assert scores == pytest.approx([similarities[n] for n in numbers], abs=1e-4), query
        assert scores == sorted(scores, reverse=True)
    assert np.mean(shares) >= recall


@pytest.mark.parametrize("kind", ["flat", "ivf", "hnsw"])
def test_a_saved_index_finds_the_same_and_is_not_built_again(encoder, corpus, tmp_path, kind):
    steps = []

    def track(items, what, total):
        steps.append(what)
        return items

    def opened():
        place = tmp_path / "index"
        return open_retriever(corpus, options(encoder, faiss=kind), index_path=place, track=track)

    built, loaded = opened(), opened()
    assert steps == ["encoding", "indexing"]
    queries = texts(10, seed=2)
    assert loaded.search(queries, 5) == built.search(queries, 5)


def test_an_index_of_another_model_or_kind_is_refused(encoder, save_encoder, corpus, tmp_path):
    place = tmp_path / "index"
    open_retriever(corpus, options(encoder), index_path=place)
    for other in (
        options(save_encoder("second")),
        options(encoder, faiss="hnsw"),
        IndexOptions(kind="bm25"),
    ):
        with pytest.raises(ConfigError, match="another one"):
            open_retriever(corpus, other, index_path=place)


def test_a_file_that_faiss_wrote_is_an_index_too(encoder, corpus, tmp_path):
    from gem_tools.search.encoder import Encoder

    contents = [passage["contents"] for passage in Passages.open(corpus)]
    index = faiss.IndexFlatIP(32)
    index.add(Encoder(encoder).encode(contents, is_query=False))
    faiss.write_index(index, str(tmp_path / "e5_Flat.index"))
    opened = open_retriever(corpus, options(encoder), index_path=tmp_path / "e5_Flat.index")
    queries = texts(5, seed=3)
    expected = open_retriever(corpus, options(encoder)).search(queries, 3)
    for found, wanted in zip(opened.search(queries, 3), expected, strict=True):
        assert [passage for passage, _ in found] == [passage for passage, _ in wanted]


def test_a_file_of_another_length_or_kind_is_refused(encoder, corpus, tmp_path):
    file = tmp_path / "some.index"
    file.write_bytes(b"no index")
    with pytest.raises(DataError, match="cannot be read"):
        open_retriever(corpus, options(encoder), index_path=file)
    index = faiss.IndexFlatIP(32)
    index.add(np.zeros((3, 32), np.float32))
    faiss.write_index(index, str(file))
    with pytest.raises(DataError, match=r"has 3 entries, .* has 1000"):
        open_retriever(corpus, options(encoder), index_path=file)


def test_more_documents_than_there_are_can_be_asked_for(encoder, write_corpus):
    corpus = write_corpus([{"contents": text} for text in texts(4)])
    for kind in ("flat", "ivf", "hnsw"):
        (found,) = open_retriever(corpus, options(encoder, faiss=kind)).search(["w1"], 10)
        assert len(found) == 4


def test_a_model_that_cannot_be_loaded_is_named(corpus, tmp_path):
    with pytest.raises(ConfigError, match="nowhere"):
        open_retriever(corpus, options(str(tmp_path / "nowhere")))


def test_concurrent_clients_of_a_dense_server_are_served_in_batches(encoder, corpus, run_server):
    import urllib.request
    from concurrent.futures import ThreadPoolExecutor

    arguments = ("--index", "dense", "--model", encoder, "--corpus", str(corpus))
    queries = [f"{text} {number}" for number, text in enumerate(texts(100, seed=4))]
    with run_server(*arguments) as (_, url):
        backend = make_backend({"id": "http", "url": f"{url}/retrieve", "concurrency": 100})
        with ThreadPoolExecutor(100) as threads:
            found = list(threads.map(lambda q: backend.search(q, topk=3, seconds=30), queries))
        with urllib.request.urlopen(f"{url}/metrics") as response:  # noqa: S310 - loopback
            metrics = response.read().decode()
    expected = open_retriever(corpus, options(encoder)).search(queries, 3)
    for documents, hits in zip(found, expected, strict=True):
        assert [d.contents for d in documents] == [passage["contents"] for passage, _ in hits]
    (batches,) = [line for line in metrics.splitlines() if "batch_queries_count" in line]
    assert float(batches.split()[1]) < 100
