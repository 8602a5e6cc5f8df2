"""One small run of every kind, by name: what it does is what the name says."""

import csv

from child_programs import SHOUT, save_program
from engine_examples import make_latents, make_work
from helpers import make_spec, sentences
from judging_server import running
from latent_examples import RESAMPLED, make_latent_work
from tedaudit.api import audit, load_corpus, run
from tedaudit.corpora.files import assemble

SIX = ("adept", "dp-bart", "dp-mlm", "dp-paraphrase", "dp-prompt", "dp-st")
NAMES = ("ann", "bob", "cy", "di", "eve", "flo")


class Counting:
    """A function that says how often it was called: the order of calls is in its outputs."""

    def __init__(self):
        self.calls = 0

    def __call__(self, text):
        self.calls += 1
        return f"{self.calls} {text.split()[self.calls % 3]}"


def choose_words(text, seed):
    """Keep words by the coins of a seed."""
    words = text.split()
    return " ".join(word for at, word in enumerate(words) if (seed >> at) & 1)


def shout(text):
    return text.upper()


def write_table(path, headings, rows):
    """Write a table of originals and rewrites, and return what names it in a spec."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([headings, *rows])
    return {"name": "recorded", "path": str(path)}


def audit_table(out, headings, rows, **settings):
    recorded = write_table(out.with_suffix(".csv"), headings, rows)
    return audit(recorded, out=str(out), attack="lexical", seed=5, **settings)


def make_authors():
    """Return texts of six authors who each have words of their own, and who wrote which."""
    texts = [f"{name} {text}" for name in NAMES for text in sentences(12)]
    return texts, [text.split()[0] for text in texts]


def audit_authors(out, mechanism, **settings):
    texts, authors = make_authors()
    given = {"attack": ["lexical", "likelihood"], "epsilon": [2, 6], "trials": 20, "seed": 9}
    return audit(mechanism, texts, author=authors, out=str(out), **given | settings)


def with_words(slots, texts):
    """Return randomised response on the words of some texts."""
    vocabulary = sorted({word for text in texts for word in text.split()})
    return {"name": "word-rr", "slots": slots, "vocabulary": tuple(vocabulary)}


def extend(out):
    """Audit, then with more trials, an epsilon more and an attack that waits for own rewrites."""
    run(make_spec(out, trials=30, block=12, seed=3))
    return run(make_spec(out, trials=60, block=12, seed=3, epsilons=[1, 3], attacks=["lexical", "resample"]))


def extend_authors(out):
    """Audit authors with more trials than before."""
    mechanism = with_words(8, make_authors()[0])
    audit_authors(out, mechanism, trials=12)
    return audit_authors(out, mechanism, trials=20)


def make_latents_again(out):
    """Audit a mechanism that makes its latents again, so that no table has them."""
    remaking = {"name": "py:latent_examples:Remaking", "label": "Encoding"}
    return run(make_latent_work(out, mechanisms=[remaking], trials=40, block=15))


def ask_judge(out):
    """Audit with a judge on a server, whose answer is always the first."""
    with running() as judging:
        judge = {"name": "llm", "judge": judging.backend, "reading": "generate"}
        return audit(
            shout, sentences(20), epsilon=1, attack=["lexical", judge], trials=20, seed=2, out=str(out)
        )


def practise(out):
    """Audit with attacks that try a mechanism on texts that are no candidates."""
    whole = sentences(100)
    corpus = assemble("split", {"train": (whole[:40], {}), "test": (whole[40:], {})})
    return audit(
        {"name": "word-rr", "slots": 8}, corpus, epsilon=[1, 5], attack=["trained", "resample", "lexical"],
        trials=40, block=15, seed=6, out=str(out),
    )  # fmt: skip


def audit_model(name, **settings):
    """Return an audit of a mechanism on its model of the zoo."""

    def run_model(out):
        texts = load_corpus("demo").texts[::30]
        given = {"epsilon": [10, 1000], "attack": ["lexical", "likelihood"], "trials": 24, "seed": 8}
        if name in ("adept", "dp-bart"):
            given["attack"] = ["lexical", "internal", "likelihood"]
        mechanism = {"name": name, **settings}
        return audit(mechanism, texts, out=str(out), **given)

    return run_model


KINDS = {
    "two-mechanisms-two-plans-failures-own-rewrites": lambda out: run(make_work(out, trials=40, block=15)),
    "latents": lambda out: run(make_latents(out)),
    "latents-kept-failures": lambda out: run(make_latent_work(out, trials=40, block=15)),
    "latents-not-kept": make_latents_again,
    "latents-and-own-rewrites": lambda out: run(
        make_latent_work(out, trials=40, block=15, attacks=[RESAMPLED, "internal"])
    ),
    "recorded": lambda out: audit_table(
        out, ("original", "rewrite"),
        [(text, text.upper() if number % 3 else "gone") for number, text in enumerate(sentences(60))],
        trials=30,
    ),
    "recorded-authors": lambda out: audit_table(
        out, ("original", "rewrite", "who"),
        [(f"{name} {text}", text, name) for name in (*NAMES, "gus", "hal") for text in sentences(8)],
        author="who", texts=4, trials=4,
    ),
    "recorded-releases": lambda out: audit_table(
        out, ("original", "rewrite"), [(text, word) for text in sentences(20) for word in text.split()[:4]],
        releases=4, trials=10,
    ),
    "extended": extend,
    "two-rows-a-trial": lambda out: run(
        make_spec(out, plans=[{"k": 2, "estimator": "baseline"}, {"k": 4}], trials=30, seed=2)
    ),
    "all-and-five-candidates": lambda out: run(
        make_spec(out, plans=[{"k": "all"}, {"k": 5, "lambda": 1e4}], trials=30, seed=2, epsilons=[1, 6])
    ),
    "nearest-furthest-given": lambda out: run(
        make_spec(
            out, trials=30, seed=2,
            plans=[
                {"k": 3, "strategy": "nearest", "top": 3}, {"k": 3, "strategy": "furthest"},
                {"k": 2, "strategy": "given", "sets": [[0, 1], [5, 9]]},
            ],
        )
    ),
    "function-that-remembers": lambda out: audit(
        Counting(), sentences(30), epsilon=1.0, trials=40, block=20, seed=4, out=str(out),
        attack=["lexical", "resample", "trained"],
    ),
    "function-with-seed": lambda out: audit(
        choose_words, sentences(30), epsilon=[1.0, 2.0], trials=40, block=20, seed=4, out=str(out),
        attack=["lexical", "resample", "trained"],
    ),
    "program": lambda out: audit(
        {"name": "command", "program": save_program(out.parent, SHOUT)}, sentences(30), epsilon=[],
        trials=30, seed=4, out=str(out), attack=["lexical", "resample"],
    ),
    "judge-on-a-server": ask_judge,
    "practice": practise,
    "likelihoods": lambda out: audit(
        with_words(8, sentences(30)), sentences(30), epsilon=[1, 4], trials=40, seed=7, out=str(out),
        attack=["likelihood", "text-likelihood", "lexical"],
    ),
    "ensemble": lambda out: audit(
        {"name": "word-rr", "slots": 8}, sentences(40), epsilon=4, trials=40, seed=7, out=str(out),
        attack=[{"name": "ensemble", "members": ["lexical", "py:helpers:SharedWords"]}],
    ),
    "authors": lambda out: audit_authors(out, with_words(8, make_authors()[0])),
    "authors-other-texts": lambda out: audit_authors(out, with_words(8, make_authors()[0]), knows="other"),
    "authors-failures": lambda out: audit_authors(out, {"name": "py:helpers:Failing", "share": 0.3},
                                                  attack=["lexical", "resample"]),
    "authors-extended": extend_authors,
    "releases": lambda out: audit(
        with_words(8, sentences(30)), sentences(30), epsilon=[2], releases=8, trials=15, seed=3,
        attack=["likelihood", "text-likelihood", "lexical"], out=str(out),
    ),
    **{f"zoo-{name}": audit_model(name) for name in SIX},
    **{f"zoo-{name}-published": audit_model(name, variant="published") for name in SIX},
    "zoo-sampler": audit_model("sampler"),
}  # fmt: skip
