"""Plans as a reader would say them."""

from tedaudit.results.telling_audit import plan_words


def described(k, estimator, **drawn):
    """Return what a manifest says of a plan."""
    return {"k": k, "estimator": estimator, "strategy": None, "lambda": None, "top": None} | drawn


def test_plans_are_described_in_words():
    manifest = {"plans": {
        "k2-lambda-10000": described(2, "reduced", strategy="transition", **{"lambda": -10000.0}),
        "k2-lambda0-baseline": described(2, "baseline", strategy="transition", **{"lambda": 0.0}),
        "k-all": described(3600, "reduced"),
        "k4-nearest10": described(4, "reduced", strategy="nearest", top=10),
        "k2-lambda-inf": described(2, "reduced", strategy="transition", **{"lambda": "-inf"}),
    }}  # fmt: skip
    assert [plan_words(name, manifest) for name in manifest["plans"]] == [
        "k = 2, lambda = -10000, reduced form", "k = 2, lambda = 0, baseline",
        "k = 3,600, every text a candidate, reduced form", "k = 4, nearest 10, reduced form",
        "k = 2, lambda = -inf, reduced form",
    ]  # fmt: skip
