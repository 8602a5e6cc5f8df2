"""Redacts texts with scrubadub 2.0.1, in an environment of its own (scrubadub.yaml).

Every line in is a JSON object with a text, every line out one with the text redacted.
"""

import argparse
import json
import sys
import warnings

import scrubadub
from scrubadub import post_processors


def read_settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--detectors", nargs="+", help="their names in scrubadub; else those of the locale")
    parser.add_argument("--locale", default="en_US")
    parser.add_argument("--replacement", choices=("type", "hash", "remove"), default="type")
    parser.add_argument("--hash-length", type=int, default=16)
    parser.add_argument("--salt", default="", help="for hash: of all texts; else every text has its own")
    return parser.parse_args()


def main() -> None:
    settings = read_settings()
    warnings.filterwarnings("error", message=".*locale")  # scrubadub only warns if a detector is left out
    named = scrubadub.Scrubber(settings.detectors, [], settings.locale)
    found = list(named._detectors.values())  # noqa: SLF001 - there is no other list of them

    def scrub(text: str, salt: str) -> str:
        after = [post_processors.FilthRemover()] if settings.replacement == "remove" else []
        if settings.replacement == "hash":
            length = settings.hash_length
            replacer = post_processors.FilthReplacer(include_hash=True, hash_salt=salt, hash_length=length)
            after = [replacer, post_processors.PrefixSuffixReplacer()]
        return scrubadub.Scrubber(found, after, settings.locale).clean(text)

    scrub("A name.", "salt")  # ends here if every text would fail, such as without a file of NLTK
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"text": scrub(request["text"], settings.salt or request["draw_key"])}
        except MemoryError:  # the machine's fault, not the text's
            raise
        except Exception as error:  # an output too, named by its type alone
            answer = {"error": f"raised-{type(error).__name__}"}
        print(json.dumps({"id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    main()
