"""Wrong input is reported with a way out, exits with 2, and changes nothing."""

import sys

import pytest

import tedaudit
from command_line import IDENTITY, PLUGIN, SMALL, contents, process
from tedaudit.cli import main

WORDS = ("run", "-m", "word-rr", *SMALL)

# What is typed, and what must be said: the thing, its value, what is allowed, what to do.
WRONG = {
    "mechanism": (
        ("run", "-m", "word-r", *SMALL),
        (
            "no mechanism named 'word-r'",
            "Did you mean 'word-rr'?",
            "recorded, sampler, translate, word-rr",
            "py:",
        ),
    ),
    "an example": (
        ("run", "-m", "scrubadub", *SMALL),
        (
            "'scrubadub' is no mechanism",
            "`command` runs",
            "examples/adapters/scrubadub.yaml",
            "docs/adapters",
        ),
    ),
    "another example": (
        ("run", "-m", "dpmlm-release", "-e", "10", *SMALL),
        ("'dpmlm-release' is no mechanism", "examples/adapters/dpmlm.yaml"),
    ),
    "attack": (
        (*IDENTITY, "-a", "lexicla"),
        ("no attack named 'lexicla'", "Did you mean 'lexical'?", "ensemble, internal, lexical", "py:"),
    ),
    "corpus": (
        ("run", "-m", "identity", "-c", "demoo", "-o", "made"),
        ("no corpus named 'demoo'", "Did you mean 'demo'?", "atis, demo, files", "py:"),
    ),
    "corpus file": (
        ("run", "-m", "identity", "-c", "text.txt", "-o", "made"),
        ("no file", "text.txt", "Did you mean 'texts.txt'?"),
    ),
    "key": (("run", "key.yaml"), ("no setting 'trails'", "Did you mean 'trials'?", "Settings are: alpha,")),
    "key of a plan": (
        ("run", "plan.yaml"),
        ("no setting 'plans.0.kk'", "Settings are: author, estimator, k, knows, lambda"),
    ),
    "field": (
        ("run", "field.yaml", "-o", "made"),
        ("'word-rr' has no parameter 'slot'", "Did you mean 'slots'?", "It takes: slots, vocabulary"),
    ),
    "field of nothing": ((*IDENTITY, "--set", "identity.x=1"), ("no parameter 'x'", "It takes: none")),
    "type of a field": (
        (*WORDS, "-e", "1", "--set", "word-rr.slots=abc"),
        ("'word-rr': parameter 'slots' is 'abc'", "must be of type int"),
    ),
    "value of a field": (
        (*WORDS, "-e", "1", "--set", "word-rr.slots=0"),
        ("'word-rr': slots is 0", "1 or more"),
    ),
    "k too large": (
        (*IDENTITY, "--k", "31"),
        ("k is 31", "only 30 distinct texts", "at most 30, 'all', or a larger corpus"),
    ),
    "k=1": ((*IDENTITY, "--k", "1"), ("'plans.0.k' is 1", "a whole number of 2 or more, or 'all'")),
    "k=abc": ((*IDENTITY, "--k", "abc"), ("'plans.0.k' is 'abc'", "a whole number of 2 or more, or 'all'")),
    "trials": ((*IDENTITY, "-t", "0"), ("'trials' is 0", "at least 1", "such as 1000")),
    "alpha=0": ((*IDENTITY, "--alpha", "0"), ("'alpha' is 0.0", "above 0 and below 1", "such as 0.01")),
    "alpha=1": ((*IDENTITY, "--alpha", "1"), ("'alpha' is 1.0", "above 0 and below 1", "such as 0.01")),
    "alpha=1.5": ((*IDENTITY, "--alpha", "1.5"), ("'alpha' is 1.5", "above 0 and below 1")),
    "delta=-0.1": ((*IDENTITY, "--delta", "-0.1"), ("'delta' is -0.1", "at least 0 and below 1")),
    "delta=1": ((*IDENTITY, "--delta", "1"), ("'delta' is 1.0", "at least 0 and below 1")),
    "epsilon=0": ((*WORDS, "-e", "0"), ("'word-rr' cannot be run at epsilon 0", "above 0, such as 0.01")),
    "epsilon=-1": ((*WORDS, "-e", "-1"), ("epsilon is '-1'", "a finite number of 0 or more, such as 1")),
    "epsilon=nan": ((*WORDS, "-e", "nan"), ("epsilon is 'nan'", "a finite number of 0 or more, such as 1")),
    "epsilon=abc": ((*WORDS, "-e", "abc"), ("epsilon is 'abc'", "a finite number of 0 or more, such as 1")),
    "no epsilon": (WORDS, ("'word-rr' needs an epsilon", "--epsilon", "such as 1")),
    "empty corpus": (
        ("run", "-m", "identity", "-c", "empty.txt", "-o", "made"),
        ("'empty.txt' is empty", "right file"),
    ),
    "corpus of one text": (
        ("run", "-m", "identity", "-c", "same.txt", "-o", "made"),
        ("has 1 distinct text", "2 duplicates", "needs at least 2", "check the file and the column"),
    ),
    "not UTF-8": (
        ("run", "-m", "identity", "-c", "latin.txt", "-o", "made"),
        ("'latin.txt' is not utf-8", "byte 0xe9", "line 2", "encoding: latin-1"),
    ),
    "which column": (
        ("run", "-m", "identity", "-c", "columns.csv", "-o", "made"),
        ("'columns.csv'", "which column", "first, second", "'column'"),
    ),
    "column": (
        ("run", "-m", "identity", "-c", "columns.csv", "--set", "corpus.column=frist", "-o", "made"),
        ("'columns.csv' has no column 'frist'", "Did you mean 'first'?", "first, second", "'column'"),
    ),
    "column of a table of rewrites": (
        (*PLUGIN, "recorded", "--set", "recorded.path=columns.csv"),
        ("'columns.csv' has no column 'original'", "first, second", "`original_column`"),
    ),
    "half a YAML": (
        ("run", "half.yaml"),
        ("'half.yaml' cannot be read as YAML", "line 2, column 7", "`tedaudit init`"),
    ),
    "a list": (("run", "list.yaml"), ("'list.yaml' holds a value of type list", "`key: value`", "init")),
    "no spec": (("run", "none.yaml"), ("no file 'none.yaml'", "`tedaudit init` writes one")),
    "set": ((*IDENTITY, "--set", "foo"), ("LABEL.KEY=VALUE", "word-rr.slots=8", "'foo'")),
    "set of nobody": (
        (*IDENTITY, "--set", "idenity.x=1"),
        ("nothing here is called 'idenity'", "Did you mean 'identity'?", "There are: corpus, identity"),
    ),
    "module": ((*PLUGIN, "py:nowhere:f"), ("'py:nowhere:f'", "cannot import nowhere", "must be installed")),
    "attribute": (
        (*PLUGIN, "py:my_plugins:shoot"),
        ("plugins has no 'shoot'", "Did you mean 'shout'?", "It has: Card, Claim"),
    ),
    "half a py name": ((*PLUGIN, "py:my_plugins"), ("'py:my_plugins'", "py:package.module:name")),
    "syntax": (
        (*PLUGIN, "py:broken:f"),
        ("'py:broken:f'", "SyntaxError", "broken.py, line 1", "python -c 'import broken'"),
    ),
    "import that raises": (
        (*PLUGIN, "py:raising:f"),
        ("'py:raising:f'", "RuntimeError: no luck", "python -c 'import raising'"),
    ),
    "no attack class": (
        (*IDENTITY, "-a", "py:my_plugins:shout"),
        ("'py:my_plugins:shout' is not an attack", "`card`", "`guess`", "CONTRIBUTING.md"),
    ),
    "one label": (
        (*IDENTITY, "-m", "identity"),
        ("Two mechanisms are called identity", "a label of its own"),
    ),
    "baseline": (
        (*IDENTITY, "--estimator", "baseline", "--k", "4"),
        ("k is 4", "baseline estimator is defined for k = 2", "use 'reduced'"),
    ),
    "too many trials": (
        ("run", "-m", "recorded", "--set", "recorded.path=pairs.csv", "-t", "2", "-o", "made"),
        ("2 trials were asked for", "3 texts", "at most 1", "Set trials to 1 or fewer"),
    ),
    "table too small": (
        ("run", "-m", "recorded", "--set", "recorded.path=pairs.csv", "-t", "1", "--k", "4", "-o", "made"),
        ("candidate sets of 4", "3 texts", "at most 0", "smaller k or a larger table"),
    ),
    "no path": ((*PLUGIN, "recorded"), ("'recorded' needs a value for: path", "It takes: delta,")),
    "metric claim": (
        (*PLUGIN, "py:my_plugins:Metric", "-e", "1"),
        ("'two texts at distance 1'", "any two texts", "Audit the mechanism without a claim"),
    ),
    "out is a file": (
        ("run", "-m", "identity", "-c", "texts.txt", "-o", "texts.txt"),
        ("'texts.txt' is a file", "`out`"),
    ),
    "out below a file": (
        ("run", "-m", "identity", "-c", "texts.txt", "-o", "same.txt/x"),
        ("'same.txt/x' cannot be made (Not a directory)", "another folder with `out`"),
    ),
    "out is a folder of other things": (
        ("run", "-m", "identity", "-c", "texts.txt", "-o", "."),
        ("'.' is not empty and holds no run", "manifest.json", "new or empty folder"),
    ),
    "estimate without numbers": (("estimate",), ("needs a run directory", "--correct and --trials")),
    "estimate without trials": (("estimate", "--correct", "5"), ("--correct and --trials",)),
    "more right than trials": (
        ("estimate", "--correct", "5", "--trials", "3"),
        ("correct is 5", "an integer from 0 to 3"),
    ),
    "estimate from no trials": (
        ("estimate", "--correct", "0", "--trials", "0"),
        ("trials is 0", "from 1 to"),
    ),
    "estimate with one candidate": (
        ("estimate", "--correct", "1", "--trials", "3", "--candidates", "1"),
        ("candidates is 1", "at least 2"),
    ),
    "estimate from two kinds of counts": (
        ("estimate", "--correct", "5", "--true-positives", "3", "--trials", "9"),
        ("--correct and --true-positives cannot be combined", "--false-positives"),
    ),
    "baseline estimate of four candidates": (
        ("estimate", "--true-positives", "3", "--false-positives", "1", "--trials", "9", "--candidates", "4"),
        ("--candidates and --true-positives, --false-positives cannot be combined",),
    ),
    "estimate of a run and of counts": (
        ("estimate", "made", "--correct", "5"),
        ("'made' has its own counts", "leave out --correct"),
    ),
    "report on no run": (("report", "."), ("'.' is not a run directory", "manifest.json", "`tedaudit run`")),
    "report on nothing": (("report", "none"), ("'none' is not a run directory", "`tedaudit run`")),
    "replay of no run": (("replay", "none", "0"), ("'none' is not a run directory", "`tedaudit run`")),
    "init over a file": (("init", "key.yaml"), ("'key.yaml' already exists", "another file")),
    "init in no folder": (
        ("init", "none/a.yaml"),
        ("'none/a.yaml' cannot be written (No such file", "another folder"),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_reported_with_its_value_and_a_way_out_and_leaves_nothing_behind(case, command, here):
    arguments, fragments = WRONG[case]
    before = contents(here)
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert err.lstrip("\n").startswith("error: ")
    assert "Traceback" not in err
    for fragment in fragments:
        assert fragment in err
    assert contents(here) == before


@pytest.mark.parametrize("case", ["k too large", "epsilon=abc", "module"])
def test_in_a_process_of_its_own_wrong_input_ends_with_two_and_one_line(case, here):
    arguments, fragments = WRONG[case]
    before = contents(here)
    done = process(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert all(fragment in done.stderr for fragment in fragments)
    assert contents(here) == before


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("runn",), ("No such command 'runn'", "Did you mean 'run'?", "tedaudit --help")),
        (("--trails",), ("No such option: --trails", "tedaudit --help")),
        (("run", "--trails", "5"), ("No such option: --trails", "--trials", "tedaudit run --help")),
        (("run", "--trials"), ("Option '--trials' requires an argument", "tedaudit run --help")),
        (("run", "--trials", "abc"), ("Invalid value for '--trials'", "tedaudit run --help")),
        (("ls", "mechanism"), ("'mechanism' is not one of", "corpora", "tedaudit ls --help")),
        (("replay",), ("Missing argument 'RUN'", "tedaudit replay --help")),
        (("replay", "made", "abc"), ("Invalid value for 'trial'", "tedaudit replay --help")),
        (("corpus", "chekc"), ("No such command 'chekc'", "tedaudit corpus --help")),
        (("corpus", "check"), ("Missing argument 'FILE'", "tedaudit corpus check --help")),
    ],
)
def test_a_mistyped_command_is_refused_in_one_line_that_names_the_help_page(arguments, fragments, command):
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert all(fragment in err for fragment in fragments)
    assert "Value error" not in err


def test_without_a_command_the_help_page_is_shown(command):
    for words in ((), ("corpus",)):
        code, out, err = command(*words)
        assert (code, err) == (2, "")
        assert "Usage:" in out


def test_a_run_that_is_there_is_left_as_it_is_by_wrong_input(command, here):
    assert command("run", "good.yaml", "-q", "-o", "made")[0] == 0
    before = contents(here)
    good = ("run", "good.yaml", "-q", "-o", "made")
    for arguments, fragment in {
        (*good, "-m", "identiy"): "no mechanism named 'identiy'",
        (
            *good,
            "-c",
            "latin.txt",
            "--set",
            "corpus.encoding=latin-1",
        ): "made with other texts: corpus files (30 texts) -> files (2 texts)",
        (*good, "--seed", "6"): "seed",
        (*good, "--set", "word-rr.slots=5"): "mechanism.slots: 4 -> 5",
        (*good, "-a", "embeding"): "no attack named 'embeding'",
        (*good, "--k", "50"): "k is 50",
        (*good, "-t", "0"): "'trials' is 0",
        ("replay", "made", "60"): "There is no trial 60; plan 'k3-lambda0' has 0 to 59.",
        (
            "replay",
            "made",
            "0",
            "-m",
            "word",
        ): "nothing with mechanism word. It has mechanism: identity, word-rr",
        ("estimate", "made", "--alpha", "2"): "alpha is 2.0; it must be above 0 and below 1",
        ("estimate", "made", "--delta", "1"): "delta is 1.0; it must be at least 0 and below 1",
    }.items():
        code, out, err = command(*arguments)
        assert (code, out) == (2, ""), arguments
        assert fragment in err
    assert contents(here) == before


def test_the_error_itself_can_be_asked_for(command, here, monkeypatch):
    monkeypatch.setenv("TEDAUDIT_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["tedaudit", "report", "none"])
    with pytest.raises(tedaudit.TedauditError):
        main()
