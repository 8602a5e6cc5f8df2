"""Train the parser of the zoo: a small spaCy pipeline (tagger, dependency parser) on UD English EWT.

    python recipes/parser.py --data DATA --out zoo/src/tedaudit_zoo/models/parser

DATA holds ud-ewt/{train,dev,test}.conllu.xz. Takes about 40 minutes on one core. Tags are the universal
parts of speech and labels those of Universal Dependencies, which `tedaudit.models.triples.extraction`
reads. Some of the sentences are learnt in lower case and without punctuation, because many texts to be
parsed come so.
"""

import lzma
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import spacy
from common.options import options
from common.saving import LICENCE, Card, write_card
from common.text import LICENCES
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam, warmup_linear

STEPS = 6000
WORDS_PER_STEP = 1000
WIDTH = 96
ROWS = {"NORM": 4000, "PREFIX": 300, "SUFFIX": 2000, "SHAPE": 700}
PLAIN_SHARE = 0.35  # of the training texts: lower case, no punctuation
LONGEST_TEXT = 3  # sentences that a training text has at most
DEV_SENTENCES = 700  # parsed for the figures shown while training

Averages = dict[Any, Any]


@dataclass(frozen=True)
class Sentence:
    """A parsed sentence; heads are positions in it, and the root is its own head."""

    words: tuple[str, ...]
    spaces: tuple[bool, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    starts_document: bool

    def plain(self) -> "Sentence":
        """Return the sentence in lower case, without punctuation that nothing hangs on."""
        used = set(self.heads)
        kept = [i for i, tag in enumerate(self.tags) if tag != "PUNCT" or i in used]
        place = {old: new for new, old in enumerate(kept)}
        last = len(self.words) - 1
        return replace(
            self,
            words=tuple(self.words[i].lower() for i in kept),
            spaces=tuple(self.spaces[i] or (i < last and i + 1 not in place) for i in kept),
            tags=tuple(self.tags[i] for i in kept),
            heads=tuple(place[self.heads[i]] for i in kept),
            labels=tuple(self.labels[i] for i in kept),
        )


def read_sentences(path: Path) -> list[Sentence]:
    """Read a CoNLL-U file; empty nodes are left out, and the words of "don't" are "do" and "n't"."""
    blocks = lzma.decompress(path.read_bytes()).decode("utf-8").strip().split("\n\n")
    return [read_sentence(block.splitlines()) for block in blocks]


def read_sentence(lines: Sequence[str]) -> Sentence:
    """Read the lines of one sentence."""
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    glued = set[int]()  # words with no space after them
    for row in rows:
        first, _, last = row[0].partition("-")
        if last:
            glued.update(range(int(first), int(last)))
        if "SpaceAfter=No" in row[9]:
            glued.add(int(float(last or first)))
    rows = [row for row in rows if row[0].isdigit()]
    return Sentence(
        words=tuple(row[1] for row in rows),
        spaces=tuple(int(row[0]) not in glued for row in rows),
        tags=tuple(row[3] for row in rows),
        heads=tuple(int(row[6]) - 1 if row[6] != "0" else i for i, row in enumerate(rows)),
        labels=tuple("ROOT" if row[7] == "root" else row[7] for row in rows),
        starts_document=any(line.startswith("# newdoc") for line in lines),
    )


def as_doc(nlp: Language, sentences: Sequence[Sentence]) -> Doc:
    """Return consecutive sentences as one text with its parse."""
    heads, offset = list[int](), 0
    for sentence in sentences:
        heads += [head + offset for head in sentence.heads]
        offset += len(sentence.words)
    columns = {
        name: [value for sentence in sentences for value in getattr(sentence, name)]
        for name in ("words", "spaces", "tags", "labels")
    }
    return Doc(
        nlp.vocab,
        words=columns["words"],
        spaces=columns["spaces"],
        tags=columns["tags"],
        deps=columns["labels"],
        heads=heads,
    )


def as_example(nlp: Language, sentences: Sequence[Sentence], *, gold_tokens: bool = False) -> Example:
    """Return a text cut into tokens by spaCy's rules (or as the treebank has it), with its parse."""
    reference = as_doc(nlp, sentences)
    spaces = [bool(token.whitespace_) for token in reference]
    words = [token.text for token in reference]
    raw = Doc(nlp.vocab, words=words, spaces=spaces) if gold_tokens else nlp.make_doc(reference.text)
    return Example(raw, reference)


def training_texts(sentences: Sequence[Sentence], rng: random.Random) -> list[list[Sentence]]:
    """Return one pass over the treebank: texts of a few sentences of one document, shuffled."""
    texts, size = list[list[Sentence]](), 0
    for sentence in sentences:
        if size == 0 or sentence.starts_document:
            texts.append([])
            size = rng.randint(1, LONGEST_TEXT)
        texts[-1].append(sentence)
        size -= 1
    rng.shuffle(texts)
    return [[s.plain() for s in text] if rng.random() < PLAIN_SHARE else text for text in texts]


def batches(nlp: Language, sentences: Sequence[Sentence], seed: int) -> Iterator[list[Example]]:
    """Return batches of about as many words each, without end."""
    rng = random.Random(seed)
    batch, words = list[Example](), 0
    while True:
        for text in training_texts(sentences, rng):
            batch.append(as_example(nlp, text))
            words += sum(len(sentence.words) for sentence in text)
            if words >= WORDS_PER_STEP:
                yield batch
                batch, words = [], 0


def new_pipeline() -> Language:
    """Return an untrained pipeline: one network that reads words, and two components that listen to it."""
    nlp = spacy.blank(
        "en", meta={"name": "zoo_parser", "license": LICENCE, "spacy_version": ">=3.8.0,<3.9.0"}
    )
    embed = {
        "@architectures": "spacy.MultiHashEmbed.v2",
        "width": WIDTH,
        "attrs": list(ROWS),
        "rows": list(ROWS.values()),
        "include_static_vectors": False,
    }
    encode = {
        "@architectures": "spacy.MaxoutWindowEncoder.v2",
        "width": WIDTH,
        "depth": 4,
        "window_size": 1,
        "maxout_pieces": 3,
    }
    reader = {"@architectures": "spacy.Tok2Vec.v2", "embed": embed, "encode": encode}
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH}
    nlp.add_pipe("tok2vec", config={"model": reader})
    nlp.add_pipe("tagger", config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}})
    parser = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "parser",
        "extra_state_tokens": False,
        "hidden_width": 64,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": listener,
    }
    nlp.add_pipe("parser", config={"model": parser})
    return nlp


def train(nlp: Language, sentences: dict[str, list[Sentence]], plan: tuple[int, int]) -> Averages:
    """Train for so many steps from a seed, at a falling learning rate; return the averages of the weights."""
    steps, seed = plan
    spacy.util.fix_random_seed(seed)
    nlp.initialize(lambda: [as_example(nlp, [sentence]) for sentence in sentences["train"]])
    optimiser = Adam(warmup_linear(0.002, 250, steps + 1), L2=0.01, grad_clip=1.0, use_averages=True)
    started = time.monotonic()
    for step, batch in enumerate(batches(nlp, sentences["train"], seed), start=1):
        nlp.update(batch, drop=0.1, sgd=optimiser)
        optimiser.step_schedules()
        if step % 500 == 0:
            with nlp.use_params(optimiser.averages):
                shown = figures(nlp, sentences["dev"][:DEV_SENTENCES])
            print(f"step {step} {time.monotonic() - started:.0f}s dev {shown}", flush=True)
        if step == steps:
            break
    return optimiser.averages


def save(nlp: Language, averages: Averages, folder: Path) -> None:
    """Write the pipeline; of the words seen in training only the labels stay, since words are hashed."""
    folder.mkdir(parents=True, exist_ok=True)
    with nlp.use_params(averages):
        nlp.to_disk(folder, exclude=["vocab"])
    words = StringStore([*nlp.get_pipe("tagger").labels, *nlp.get_pipe("parser").labels])
    (folder / "vocab").mkdir(exist_ok=True)
    words.to_disk(folder / "vocab" / "strings.json")


def figures(nlp: Language, sentences: Sequence[Sentence], *, gold_tokens: bool = False) -> dict[str, float]:
    """Return attachment scores and tag accuracy (per cent) by spaCy's scorer, one sentence a text."""
    examples = [as_example(nlp, [sentence], gold_tokens=gold_tokens) for sentence in sentences]
    for example in examples:
        example.predicted = nlp(example.predicted)
    found = Scorer(nlp).score(examples)
    names = {"UAS": "dep_uas", "LAS": "dep_las", "tag accuracy": "tag_acc"}
    return {name: round(100 * found[key], 1) for name, key in names.items()}


def speed(nlp: Language, sentences: Sequence[Sentence]) -> float:
    """Return how many sentences are parsed in a second of one core's time, one by one."""
    texts = [as_doc(nlp, [sentence]).text for sentence in sentences]
    started = time.process_time()
    for text in texts:
        nlp(text)
    return len(texts) / (time.process_time() - started)


def measured(nlp: Language, test: Sequence[Sentence], dev: Sequence[Sentence]) -> dict[str, str]:
    """Return the figures of the card."""
    plain = [sentence.plain() for sentence in test]
    kinds = {
        "test, spaCy's tokens": figures(nlp, test),
        "test, the treebank's tokens": figures(nlp, test, gold_tokens=True),
        "test in lower case without punctuation, spaCy's tokens": figures(nlp, [s for s in plain if s.words]),
        "dev, spaCy's tokens": figures(nlp, dev),
    }
    found = {kind: ", ".join(f"{name} {value}" for name, value in row.items()) for kind, row in kinds.items()}
    return found | {"speed": f"{speed(nlp, test):.0f} sentences per second of one core"}


def main() -> None:
    """Train, save, load what was saved and measure that."""
    chosen = options(__doc__)
    steps, most = (8, 300) if chosen.dry_run else (STEPS, None)
    names = ("train", "dev", "test")
    sentences = {n: read_sentences(chosen.data / "ud-ewt" / f"{n}.conllu.xz")[:most] for n in names}
    nlp = new_pipeline()
    averages = train(nlp, sentences, (steps, chosen.seed))
    save(nlp, averages, chosen.out)
    found = measured(spacy.load(chosen.out), sentences["test"], sentences["dev"])
    words = sum(len(sentence.words) for sentence in sentences["train"])
    card = Card(
        title="parser",
        summary="A spaCy pipeline for English: tagger (universal parts of speech) and dependency parser "
        "(Universal Dependencies). DP-ST reads triples off its trees.",
        data=[f"{LICENCES['ewt']}: {len(sentences['train']):,} sentences, {words:,} words"],
        training=[
            f"{steps:,} steps of about {WORDS_PER_STEP:,} words, Adam, averaged weights, seed {chosen.seed}",
            f"texts of 1 to {LONGEST_TEXT} sentences; {PLAIN_SHARE:.0%} in lower case without punctuation",
            f"hashed embeddings of {sum(ROWS.values()):,} rows, width {WIDTH}, 4 convolutions",
        ],
        figures=found,
        limits=[
            "Figures are spaCy's: punctuation is not scored, and labels count with their subtypes.",
            "Learnt and measured on web text (reviews, e-mail, blogs, answers), and on no other kind.",
        ],
        command="python recipes/parser.py --data DIR --out zoo/src/tedaudit_zoo/models/parser",
    )
    write_card(chosen.out, card)


if __name__ == "__main__":
    main()
