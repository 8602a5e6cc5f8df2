"""A dataset from the Hugging Face hub, or a folder saved with `save_to_disk` of `datasets`.

Source: any public dataset that `datasets` loads without running code from the hub. The split named
by `split` becomes the training split and `test`, if given, the test split. Class labels become their
names. Needs the extra: pip install 'tedaudit[hub]'.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tedaudit.corpora.files import assemble
from tedaudit.errors import CorpusError, did_you_mean, join_names
from tedaudit.paths import parse_path
from tedaudit.plugins.extras import explain_missing
from tedaudit.plugins.values import Card, Corpus
from tedaudit.text.readers import Table, choose_column, take_text

_INSTEAD = (
    "On a machine with access to the hub, run `datasets.load_dataset(...).save_to_disk(folder)` and set "
    "'dataset' to that folder; or download the dataset's files and use the corpus 'files'."
)


@dataclass(frozen=True)
class Hub:
    """A dataset given by its name on the hub or by its folder on disk."""

    card: ClassVar[Card] = Card(
        name="hub",
        needs=("hub",),
        summary="A dataset from the Hugging Face hub, or a folder written by datasets' save_to_disk.",
    )

    dataset: str
    """Name of a dataset on the hub, or a folder written by save_to_disk."""
    config: str = ""
    """Configuration of the dataset, if it has several."""
    column: str = ""
    """Column of texts; empty: guessed by its name, or because it is the only one of strings."""
    revision: str = ""
    """Branch, tag or commit of the dataset; name one, so that a later run reads the same texts."""
    split: str = "train"
    """The split that candidates come from."""
    test: str = ""
    """The split for testing; empty: none."""

    def load(self) -> Corpus:
        """Return the corpus, with every other column kept as a label."""
        datasets = _import_library()
        folder = parse_path(self.dataset)
        notes: list[str] = []
        if self.dataset and folder.is_dir():
            saved = _load_saved(datasets, folder)
        else:
            saved = None
            if not self.revision:
                notes.append(
                    "no 'revision' of the dataset is set; set one so that a later run reads the same texts"
                )
        column = self.column
        splits = {}
        for name, wanted in (("train", self.split or "train"), ("test", self.test)):
            if name == "test" and not wanted:
                continue
            data = self._fetch(datasets, wanted) if saved is None else _pick(datasets, saved, wanted, folder)
            table = data.with_format(None).to_dict()
            source = f"Split '{wanted}' of '{self.dataset}'"
            column, note = choose_column(table, column, source)
            notes += [note] if note else []
            texts, labels = take_text(table, column, source)
            splits[name] = texts, _name_classes(labels, data.features)
        return assemble(self.card.name, splits, notes)

    def _fetch(self, datasets: Any, split: str) -> Any:
        """Return one split from the hub or from the library's cache; code from the hub is never run."""
        name = f"'{self.dataset}'" + (f" ({self.config})" if self.config else "")
        try:
            return datasets.load_dataset(
                self.dataset, self.config or None, split=split, revision=self.revision or None
            )
        except ConnectionError as error:
            raise CorpusError(f"The hub cannot be reached for dataset {name}: {error}. {_INSTEAD}") from error
        except Exception as error:  # the library raises many types, which change between versions
            raise CorpusError(
                f"Split '{split}' of dataset {name} could not be loaded: {error}. Check 'dataset', 'config', "
                f"'split' and 'revision'. {_INSTEAD}"
            ) from error


def _import_library() -> Any:
    missing = explain_missing("The corpus 'hub'", "datasets", instead="or use the corpus 'files'")
    if missing:
        raise CorpusError(missing)
    import datasets

    return datasets


def _load_saved(datasets: Any, folder: Path) -> Any:
    """Return what save_to_disk wrote to a folder: one dataset, or several by split."""
    if not any((folder / name).is_file() for name in ("dataset_dict.json", "dataset_info.json")):
        raise CorpusError(
            f"The folder '{folder}' was not written by save_to_disk: it has neither dataset_dict.json nor "
            f"dataset_info.json, but: {join_names(entry.name for entry in folder.iterdir())}. "
            "For a folder of csv, jsonl or parquet files use the corpus 'files'."
        )
    try:
        return datasets.load_from_disk(str(folder))
    except Exception as error:  # arrow, json and the file system each raise their own type
        raise CorpusError(f"The dataset in '{folder}' is damaged: {error}. Save it again.") from error


def _pick(datasets: Any, saved: Any, split: str, folder: Path) -> Any:
    if not isinstance(saved, datasets.DatasetDict):
        if split != "train":
            raise CorpusError(
                f"'{folder}' contains one dataset without splits, so there is no split '{split}'. "
                "Remove 'split' and 'test', or save a DatasetDict."
            )
        return saved
    if split not in saved:
        raise CorpusError(
            f"'{folder}' has no split '{split}'. It has: {join_names(saved)}.{did_you_mean(split, saved)} "
            "Name one of them with 'split' or 'test'."
        )
    return saved[split]


def _name_classes(labels: Table, features: Any) -> Table:
    """Return the columns with class numbers replaced by names; None if a row has no label."""
    columns = dict(labels)
    for column, values in labels.items():
        names = getattr(features[column], "names", None)
        if names:
            columns[column] = [None if value is None or value < 0 else names[value] for value in values]
    return columns
