"""Local files and folders: listed, written whole or not at all."""

import pytest

from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.error import InputError
from orchestrator.runtime import model_source, storage
from orchestrator.runtime.model_source import Published


@pytest.fixture
def files(tmp_path):
    names = "a/1.parquet a/2.parquet a/notes.txt a/_manifest.json a/.hidden a/deep/3.parquet b/1.parquet"
    for name in names.split():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a/*.parquet", ["a/1.parquet", "a/2.parquet"]),
        ("*/1.parquet", ["a/1.parquet", "b/1.parquet"]),
        ("a/[2-9].parquet", ["a/2.parquet"]),
        ("a/1.parquet", ["a/1.parquet"]),
        ("a", ["a/1.parquet", "a/2.parquet", "a/notes.txt"]),
        ("c/*.parquet", []),
        ("c", []),
        ("a/9.parquet", []),
    ],
)
def test_names_files_as_a_shell_would(files, pattern, expected):
    assert storage.expand(str(files / pattern)) == [str(files / name) for name in expected]


def test_text_is_replaced_whole(tmp_path):
    where = str(tmp_path / "new" / "file.json")
    assert storage.read_text(where) is None
    storage.write_text(where, "one")
    storage.write_text(where, "zwei ü")
    assert storage.read_text(where) == "zwei ü"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file.json"]


def test_a_new_folder_replaces_the_old_one(tmp_path):
    target = tmp_path / "model"
    for content in ("old", "new"):
        with storage.new_folder(str(target)) as folder:
            (folder / content).write_text(content)
            assert not (target / content).exists(), "nothing shows before it is complete"
    assert [path.name for path in target.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_folder_never_appears(tmp_path):
    with pytest.raises(OSError, match="full"), storage.new_folder(str(tmp_path / "model")) as folder:
        (folder / "half").write_text("half")
        raise OSError("disk full")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def card(tmp_path):
    return ModelCard(
        name="m", source=str(tmp_path / "base"), params=1e6, layers=1, hidden_size=8, heads=1, kv_heads=1, head_dim=8,
        context_tokens=8, dtype=Dtype.FP32, run="tune",
    )  # fmt: skip


def make_model(folder):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return str(folder)


def test_a_run_stands_for_what_it_published_last(tmp_path, card):
    store = str(tmp_path / "store")
    for number in (1, 2):
        path = make_model(tmp_path / "store" / "models" / "tune" / f"tune-{number}")
        model_source.write_current(store, "tune", Published(run_id=f"tune-{number}", path=path, metrics={"loss": 0.5}))
    assert model_source.resolve(card, store) == path
    assert model_source.read_current(store, "tune") == Published(run_id="tune-2", path=path, metrics={"loss": 0.5})


def test_a_run_without_a_result_says_how_to_get_one(tmp_path, card):
    with pytest.raises(InputError, match=r"run:tune has no published model yet. .*jobs.finetune --job tune"):
        model_source.resolve(card, str(tmp_path))


def test_a_damaged_pointer_is_told(tmp_path, card):
    storage.write_text(model_source.pointer(str(tmp_path), "tune"), "{")
    with pytest.raises(InputError, match="cannot be understood"):
        model_source.resolve(card, str(tmp_path))


def test_a_folder_that_is_gone_is_told(tmp_path, card):
    model_source.write_current(str(tmp_path), "tune", Published(run_id="1", path=str(tmp_path / "gone")))
    with pytest.raises(InputError, match="gone is not a Hugging Face model folder"):
        model_source.resolve(card, str(tmp_path))
