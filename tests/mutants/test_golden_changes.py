"""What is changed in golden models, on a planted module, and that what only makes up messages is not."""

import ast
from collections import Counter

import pytest

from opgold.harness.gates.mutation import golden_mutants
from opgold.harness.gates.mutation.golden_words import parameters, said
from opgold.reference import schema

MODULE = '''"""Planted."""
import numpy as np


def require(holds, argument, values, expected):
    """Raise 1 + 1 errors."""
    if not np.all(holds):
        raise ValueError(f"{argument} is {values[0 + 1]}, expected {expected}")


def check(rows, limit):
    named = limit + 1
    require(rows <= limit, "rows", rows + 1, f"below {named}")


def op(x, n=3, *, out):
'''

MIN = [
    ("dropped min/max", "min(n, 1)", "n"),
    ("dropped min/max", "min(n, 1)", "(1)"),
    ("constant", "1", "2"),
    ("constant", "1", "0"),
]


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """The changes of the body of the planted module's `op`: (operator, before, after)."""

    def changed(body):
        file = tmp_path / "planted.py"
        file.write_text(MODULE + "".join(f"    {line}\n" for line in body.splitlines()))
        known = parameters([ast.parse(file.read_text())])
        monkeypatch.setattr(golden_mutants, "_parameters", lambda: known)
        sites = golden_mutants._sites.__wrapped__(file)
        for site in sites:
            ast.parse(site.changed)
        return [(s.mutant.operator, s.mutant.before, s.mutant.after) for s in sites if s.function == "op"]

    return changed


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x < n", [("comparison", "x < n", "x <= n"), ("comparison", "x < n", "x != n")]),
        (
            "return (x - n) * out",
            [("arithmetic", "(x - n) * out", "(x - n) + out"), ("arithmetic", "x - n", "x + n")],
        ),
        ("return x * n - out", [("arithmetic", "x * n - out", "x * n + out"), ("arithmetic", "x * n", "(x + n)")]),
        ("return x and n", [("condition", "x and n", "n"), ("condition", "x and n", "x")]),
        (
            "return x & (n | out)",
            [
                ("condition", "x & (n | out)", "x"),
                ("condition", "x & (n | out)", "n | out"),
                ("condition", "n | out", "n"),
                ("condition", "n | out", "out"),
            ],
        ),
        ("return x if n else out", [("condition", "x if n else out", "x"), ("condition", "x if n else out", "out")]),
        ("return max(x, n)", [("dropped min/max", "max(x, n)", "x"), ("dropped min/max", "max(x, n)", "n")]),
        ("return np.where(x, n, out)", [("condition", "np.where(x, n, out)", after) for after in ("n", "out")]),
        (
            "return x[n:]",
            [("off by one", "n", "n + 1"), ("off by one", "n", "n - 1")],
        ),
        ("return x[n + 1]", [("arithmetic", "n + 1", "n - 1"), ("constant", "1", "2"), ("constant", "1", "0")]),
        ("return x[x == n]", [("comparison", "x == n", "x <= n"), ("comparison", "x == n", "x >= n")]),
        ("return x.astype(np.int64)", [("64 to 32 bits", "np.int64", "np.int32")]),
        ("return 2**31", [("constant", "31", "32"), ("constant", "31", "30")]),
        ("return check(x, n)", [("swapped arguments", "check(x, n)", "check(n, x)")]),
        ("return ~x", [("condition", "~x", "x")]),
        (
            "return x == -1",
            [
                ("comparison", "x == -1", "x <= -1"),
                ("comparison", "x == -1", "x >= -1"),
                ("constant", "1", "2"),
                ("constant", "1", "0"),
            ],
        ),
        ("if n:\n    raise ValueError(n + 1)", [("dropped guard", "n", "False")]),
        ("if n:\n    x[:] = n", [("dropped guard", "n", "False"), ("dropped guard", "n", "True")]),
        ("x[:] = n", [("dropped statement", "x[:] = n", "pass")]),
        ("x += n", [("arithmetic", "x += n", "x -= n"), ("dropped statement", "x += n", "pass")]),
        ("check(x, x)", [("dropped statement", "check(x, x)", "pass")]),
        (
            "for i in range(n):\n    continue",
            [
                ("off by one", "n", "n + 1"),
                ("off by one", "n", "n - 1"),
                ("dropped statement", "continue", "pass"),
            ],
        ),
        (
            "return n.real + min(n, 1).real",
            [("arithmetic", "n.real + min(n, 1).real", "n.real - min(n, 1).real"), *MIN],
        ),
    ],
)
def test_changes(changed, body, expected):
    assert Counter(changed(body)) == Counter(expected)


def test_a_name_that_is_defined_is_not_dropped(changed):
    assert changed("y = x\nreturn y") == []


@pytest.mark.parametrize(
    "body",
    [
        "raise ValueError(x + 1)",
        'require(x, "x", n + 1, "less than" + " 3")',
        'held = n * 3\nrequire(x, "x", n, f"at most {held}")',
        "y: list[3] = x\nreturn y",
        'return f"{x + 1}"',
    ],
)
def test_words_are_not_changed(changed, body):
    assert [change for change in changed(body) if change[0] != "dropped statement"] == []


def test_parameters_that_only_messages_hold_are_found_through_calls():
    tree = ast.parse(MODULE + "    pass\n")
    known = parameters([tree])
    assert known["require"][1] == {"argument", "values", "expected"}
    assert known["check"][1] == set()
    check = tree.body[3]
    words = {ast.unparse(node) for node in said(check, known) if isinstance(node, ast.BinOp)}
    assert words == {"limit + 1", "rows + 1"}


def test_every_changed_model_compiles_and_differs():
    for site in golden_mutants.sites("get_padding_offset"):
        assert site.changed != site.mutant.file.read_text()
        compile(site.changed, str(site.mutant.file), "exec")


def test_every_model_has_mutants_and_helpers_are_shared():
    files = {op: {site.mutant.file.stem for site in golden_mutants.sites(op)} for op in schema.ops()}
    assert all(op in stems for op, stems in files.items())
    assert "_contract" in files["get_padding_offset"]
    assert files["ngram_match"] & files["hybrid_mtp_ngram"] >= {"_ngram"}
