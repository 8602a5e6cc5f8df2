"""Make the vocabulary that the models of the zoo share: byte-level BPE of the public text mix.

python recipes/vocabulary.py --data DIR --out zoo/src/tedaudit_zoo/models/vocabulary
"""

from pathlib import Path

from common.options import options
from common.saving import Card, compact, write_card
from common.text import LICENCES, SHARES, mix
from common.vocabulary import PAD, SPECIAL, encoded, tokenizer_for

SIZE = 8192


def main() -> None:
    """Train on the mix, count how many tokens a held-out sentence takes, write."""
    chosen = options(__doc__)
    train, held_out = mix(chosen.data, chosen.seed, limit=2000 if chosen.dry_run else 0)
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.out / "tokenizer.json"
    build(train, file)
    table = encoded(tokenizer_for("gpt2", file), held_out, 64)
    words = sum(len(text.split()) for text in held_out)
    figures = {"tokens per word, held out": f"{(table != PAD).sum() / words:.2f}"}
    card = Card(
        title="vocabulary",
        summary=f"Byte-level BPE of {SIZE:,} tokens, shared by mlm, seq2seq, paraphraser, bart and adept.",
        data=[LICENCES[source] for source in SHARES],
        training=[f"{len(train):,} sentences of the public mix, some in lower case; frequent pairs merged"],
        figures=figures,
        limits=["English. SNIPS is part of the mix: audits on SNIPS see text the vocabulary was made from."],
        command="python recipes/vocabulary.py --data DIR --out zoo/src/tedaudit_zoo/models/vocabulary",
    )
    write_card(chosen.out, card)


def build(texts: list[str], file: Path) -> None:
    """Train the tokenizer and write it compactly."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    special = [AddedToken(token, lstrip=token == "<mask>", special=True) for token in SPECIAL]
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(texts, trainer, length=len(texts))
    file.write_text(tokenizer.to_str(), encoding="utf-8")
    compact(file)


if __name__ == "__main__":
    main()
