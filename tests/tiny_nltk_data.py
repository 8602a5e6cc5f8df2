"""A folder laid out as nltk's data, with a few words in it: nltk's own functions read it as well."""

from pathlib import Path

STOP_WORDS = ("the", "of", "it", "is", "a")


def save_nltk_data(folder: Path) -> Path:
    """Write the files of punkt_tab and stopwords."""
    punkt, stop = folder / "tokenizers" / "punkt_tab" / "english", folder / "corpora" / "stopwords"
    punkt.mkdir(parents=True)
    stop.mkdir(parents=True)
    files = {
        "abbrev_types.txt": "mr\nsupp\netc\n",
        "collocations.tab": "no\tnumber\n",
        "sent_starters.txt": "he\nthe\n",
        "ortho_context.tab": "he\t108\nthe\t46\nbread\t36\nlisbon\t14\n",
    }
    for name, content in files.items():
        (punkt / name).write_text(content, encoding="utf-8")
    (stop / "english").write_text("\n".join(STOP_WORDS) + "\n", encoding="utf-8")
    return folder
