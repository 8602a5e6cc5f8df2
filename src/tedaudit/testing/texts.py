"""The texts on which plug-ins are tried: ordinary ones, and some that are meant to hurt."""

from collections.abc import Mapping

ORDINARY = (
    "Could you book a quiet table for four on Friday evening?",
    "My sister's flight from Lisbon was delayed by three hours, and nobody told her why.",
    "Please send the March invoice to the Rotterdam office.",
    "Turn the heating down when everyone has left.",
    "It rained all week",
    "The second film was far better than the first!",
    "Is there a night bus to the airport, and what does it cost?",
    "Three of my molars hurt since Tuesday; the dentist is away.",
)
ODD: Mapping[str, str] = {
    "the empty text": "",
    "white space alone": " \t\n ",
    "punctuation alone": "?! ... -- (;",
    "emoji": "\U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7",
    "control characters": "left\x00over\x07 \x1b[31mred\x1b[0m \u202edetrever",
    "a text of 3,000 words": "the clerk counted parcels " * 750,
}
