from tedaudit.reports.chart import plan_words


def test_plans_are_described_in_words():
    manifest = {"plans": {name: {"k": k, "estimator": e} for name, k, e in (
        ("k2-lambda-10000", 2, "reduced"), ("k2-lambda0-baseline", 2, "baseline"), ("k-all", 3600, "reduced"),
        ("k4-nearest10", 4, "reduced"), ("k2-lambda-inf", 2, "reduced"))}}  # fmt: skip
    assert [plan_words(name, manifest) for name in manifest["plans"]] == [
        "k = 2, lambda = -10000, reduced form", "k = 2, lambda = 0, baseline",
        "k = 3,600, every text a candidate, reduced form", "k = 4, nearest 10, reduced form",
        "k = 2, lambda = -inf, reduced form",
    ]  # fmt: skip
