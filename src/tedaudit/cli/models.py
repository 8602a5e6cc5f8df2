"""The commands on models: fetch one of others, measure the range that its logits are clipped to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli.help_pages import Command, end_page
from tedaudit.cli.options import AUDITED, OUTPUT, WORK, Column, Json, Quiet, option, print_json

if TYPE_CHECKING:
    from tedaudit.models.catalogue import Entry
    from tedaudit.models.clip_range import Measured

models = typer.Typer(
    no_args_is_help=True, help="Fetch a model of others, or measure the range that its logits are clipped to."
)


@models.command(
    cls=Command,
    epilog=end_page("tedaudit models get opus-mt", "tedaudit models get smollm2 --from downloads/smollm2"),
)
def get(
    name: Annotated[str, typer.Argument(help="As `tedaudit ls models` names it.")],
    brought: Annotated[
        Path | None,
        option(WORK, "--from", metavar="FOLDER", help="A folder with the files; without it, the hub."),
    ] = None,
    dry_run: Annotated[
        bool, option(WORK, "--dry-run", help="Only say from where and what it takes; nothing is fetched.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fetch a model into the folder of models, where `models:NAME` finds it.

    Every file is checked by its SHA-256. Files that were downloaded are kept until the model is complete: the
    same command goes on where it stopped. The folder is TEDAUDIT_MODELS, or else tedaudit/models in ~/.cache.
    """
    from tedaudit.cli.console import console
    from tedaudit.models.catalogue import find_entry
    from tedaudit.models.fetching import fetch, is_here
    from tedaudit.paths import parse_path

    entry = find_entry(name)
    was_here, told = is_here(entry), _tell_fetch(entry, brought)
    if not as_json and not quiet:
        for line in _describe_fetch(entry, told):
            console().print(line, soft_wrap=True)
    if not dry_run and not was_here:
        fetch(entry, brought and parse_path(brought), quiet=quiet)
    if as_json:
        fetched = not dry_run and not was_here
        print_json({**told, "is_here": was_here or fetched, "fetched": fetched})
    elif not dry_run:
        typer.echo(f"{'Was here' if was_here else 'Done'}: {', '.join(entry.references)}")


def _tell_fetch(entry: "Entry", brought: Path | None) -> dict[str, Any]:
    """Return where a model comes from and what it takes, as it is before anything is fetched."""
    from tedaudit.models.catalogue import PREFIX, find_models_folder
    from tedaudit.models.fetching import describe_hub, find_base, is_here

    base = find_base(entry)
    needs_files = not is_here(entry) and not is_here(base)
    source = f"the hub, {describe_hub(base)}" if brought is None else str(brought)
    if entry.adapter:
        where = "which is here" if is_here(base) else f"from {source}"
        source = f"{PREFIX}{base.name}, {where}, and the adapter {entry.adapter}"
    is_download = needs_files and brought is None
    return {
        "name": entry.name, "references": entry.references, "folder": str(find_models_folder() / entry.name),
        "source": source, "licence": entry.licence,
        "download_bytes": sum(file.bytes for file in base.files) if is_download else 0,
        "folder_bytes": entry.made, "memory_bytes": entry.memory,
    }  # fmt: skip


def _describe_fetch(entry: "Entry", told: Mapping[str, Any]) -> list[str]:
    """Return the same for people, with the licence."""
    from tedaudit.models.fetching import is_here

    lines = [f"{entry.name}: {entry.summary}"]
    if is_here(entry):
        return [*lines, f"  in        {told['folder']}"]
    takes = (
        f"{_size(told['download_bytes'])} to download; {_size(entry.made)} of disk, twice that while it is "
        f"put together; {_size(entry.memory)} of memory for its weights, and 1 to 2 GB for the rest of an "
        "audit"
    )
    shown = {"from": told["source"], "licence": entry.licence, "takes": takes, "to": told["folder"]}
    return [*lines, *(f"  {name:<9} {what}" for name, what in shown.items())]


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


@models.command(
    cls=Command,
    epilog=end_page(
        "tedaudit models clip models/my-gpt2",
        "tedaudit models clip models:opus-mt/fr-en --texts french.txt --force",
    ),
)
def clip(
    model: Annotated[str, typer.Argument(help="A folder, models:NAME or a hub id; what it does is found.")],
    texts: Annotated[
        str | None,
        option(AUDITED, "--texts", metavar="FILE", help="Public texts; without it, the demo corpus."),
    ] = None,
    column: Column = "",
    prompt: Annotated[
        str,
        option(
            AUDITED,
            "--prompt",
            help="What a model that writes is given, {text} in it; else as dp-prompt or dp-paraphrase do.",
        ),
    ] = "",
    revision: Annotated[
        str, option(AUDITED, "--revision", metavar="NAME", help="Branch, tag or commit of a hub model.")
    ] = "",
    limit: Annotated[int, option(WORK, "--limit", min=2, help="Texts that are read, at most.")] = 1000,
    device: Annotated[str, option(WORK, "--device", metavar="NAME", help="auto, cpu, cuda or mps.")] = "auto",
    force: Annotated[
        bool, option(OUTPUT, "--force", help="Measure again, and replace the range that is there.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure on public texts to which range a model's logits are clipped, and store it with the model.

    dp-mlm, dp-prompt, dp-paraphrase and others take it from there. Masked models see every word masked in
    turn; models that write follow their likeliest continuation. Private texts must not be used: the range is
    part of the mechanism, and nothing hides what it was measured on.
    """
    from tedaudit.cli.console import progress_bar
    from tedaudit.errors import ModelError, SpecError
    from tedaudit.models.clip_range import clear_place, measure_model, place_range, store_range
    from tedaudit.models.places import read_clip
    from tedaudit.paths import describe_os_error

    if prompt and "{text}" not in prompt:
        raise SpecError(f"--prompt is {prompt!r}; it must contain {{text}}, which stands for the text.")
    file = place_range(model, revision)
    if not force and (known := read_clip(file)) is not None:
        raise SpecError(
            f"'{model}' has a clip range: {known[0]:g} to {known[1]:g}, in {file}. Use --force to measure "
            "again and replace it; results made with the old one are not continued."
        )
    public, name = _read_texts(texts, column, limit)
    clear_place(file)
    with progress_bar(quiet=quiet) as progress:

        def advance(done: int, total: int) -> None:
            if progress is not None:
                progress(model, done, total)

        found = measure_model(
            model, public, prompt or _choose_prompt(model, revision), revision, device, advance
        )
    try:
        store_range(found, file, f"{found.texts} texts of {name}")
    except OSError as error:  # what was measured for minutes is told all the same
        _show_range(found, None, as_json=as_json)
        raise ModelError(
            f"The range could not be stored in {file} ({describe_os_error(error)}). Set low={found.low} and "
            f"high={found.high} of the mechanism."
        ) from error
    _show_range(found, file, as_json=as_json)


def _read_texts(path: str | None, column: str, limit: int) -> tuple[list[str], str]:
    """Return distinct public texts, taken evenly from all of them, and what they are called."""
    if path is None:
        from tedaudit.corpora.demo import Demo

        found: Sequence[str] = Demo().load().splits["train"].texts
    else:
        from tedaudit.cli.texts import read_columns

        found, _ = read_columns(path, column)
    distinct = [text for text in dict.fromkeys(found) if text.strip()]
    count = min(limit, len(distinct))
    chosen = [distinct[i * len(distinct) // count] for i in range(count)]
    return chosen, "the corpus demo" if path is None else Path(path).name


def _choose_prompt(model: str, revision: str) -> str:
    """Return what the mechanism that a model fits gives it; a translator is given the text alone."""
    from tedaudit.models.loading import find_task, is_translator
    from tedaudit.plugins.registry import find, names

    task = find_task(model, revision)
    for name in () if is_translator(model, revision) else names("mechanism"):
        plugin = find("mechanism", name)
        if vars(plugin).get("prompts") == task:
            return str(plugin().fill_prompt("{text}"))
    return "{text}"


def _show_range(found: "Measured", file: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "low": found.low, "high": found.high, "texts": found.texts, "places": found.places,
                "file": None if file is None else str(file),
                "draws": [
                    {"epsilon": epsilon, "likeliest": best, "bits": bits}
                    for epsilon, (best, bits) in found.draws.items()
                ],
            }
        )  # fmt: skip
        return
    for name, value in found.describe().items():
        typer.echo(f"{name}: {value}")
    stored = "" if file is None else f" Stored: {file}"
    typer.echo(f"Measured at {found.places:,} places in {found.texts:,} texts.{stored}")
