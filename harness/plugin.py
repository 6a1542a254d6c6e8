"""pytest plugin: options, and parametrisation over ops, backends and regression cases.

A test that takes `opgold_backend` and `opgold_case` runs once for each backend and regression case; one that takes
`opgold_backend` and `opgold_op_name`, once for each backend and op of its vendor; with `opgold_sequence`, for each kept
sequence. A backend that cannot run here is skipped with its reason, and fails under `--opgold-require`.

`opgold_op` is for tests of one's own: it calls ops on Paddle tensors and holds them to the golden models.

`opgold_judge` fails a test with its findings; those that the ledger names are expected failures. At the end of a
session that ran cases, entries of the ledger that are expired or stale fail it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from opgold.harness.backends import Backend
    from opgold.harness.finding import Finding
    from opgold.harness.ledger import Ledger
    from opgold.harness.paddle.held import HeldOps

RAN, KNOWN, ENTRY = "opgold_ran", "opgold_known", "opgold_entry"  # properties of a test's report
PROFILES = {"default": 50, "ci": 200, "nightly": 5000}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("opgold")
    group.addoption(
        "--opgold-backend",
        action="append",
        metavar="NAME",
        help="backend to test; may be repeated (default: cuda-emu and xpu-emu)",
    )
    group.addoption(
        "--opgold-require", action="store_true", help="a backend that is not available is an error, not a skip"
    )
    group.addoption(
        "--opgold-profile",
        choices=sorted(PROFILES),
        default="default",
        help="how many generated cases an op: " + ", ".join(f"{name} {count}" for name, count in PROFILES.items()),
    )
    group.addoption("--opgold-seed", type=int, default=0, metavar="N", help="which cases are generated")
    group.addoption(
        "--opgold-module",
        default="opgold.paddle",
        metavar="NAME[@FILE]",
        help="module whose ops `opgold_op` calls, and its contract (default: opgold.paddle)",
    )
    group.addoption("--opgold-ledger", type=Path, metavar="FILE", help="known failures (default: the package's own)")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # under xdist, the controller alone sees every report
        config.pluginmanager.register(LedgerAudit(config), "opgold-ledger-audit")


def _ledger(config: pytest.Config) -> Ledger:
    """The ledger that the options name."""
    from opgold.harness import ledger

    try:
        return ledger.read(config.getoption("--opgold-ledger") or ledger.PATH)
    except ledger.LedgerError as error:
        raise pytest.UsageError(f"--opgold-ledger: {error}") from error


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = set(metafunc.fixturenames)
    if "opgold_backend" not in wanted:
        return
    from opgold.harness import backends, casefile

    names = metafunc.config.getoption("--opgold-backend") or backends.DEFAULT
    for name in names:
        try:
            backends.get(name)
        except backends.UnknownBackend as error:
            raise pytest.UsageError(f"--opgold-backend: {error}") from error
    _ledger(metafunc.config)
    if "opgold_case" in wanted:
        cases = [(name, path) for name, op in _pairs(names) for path in casefile.regressions(op)]
        ids = [f"{name}-{path.parent.name}-{path.stem}" for name, path in cases]
        metafunc.parametrize(("opgold_backend", "opgold_case"), cases, ids=ids, indirect=True)
    elif "opgold_op_name" in wanted:
        metafunc.parametrize(("opgold_backend", "opgold_op_name"), _pairs(names), indirect=True)
    else:
        metafunc.parametrize("opgold_backend", names, indirect=True)
    if "opgold_sequence" in wanted:
        from opgold.harness import sequences

        kept = [path for name in sequences.NAMES for path in sequences.saved(name)]
        metafunc.parametrize("opgold_sequence", kept, ids=[path.stem for path in kept], indirect=True)


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Each backend with each op that one of its vendors has."""
    from opgold.harness import backends
    from opgold.reference import schema

    vendors = {name: set(backends.get(name).vendors) for name in names}
    return [(name, op) for name in names for op in schema.ops() if vendors[name] & set(schema.load(op).vendors)]


@pytest.fixture
def opgold_backend(request: pytest.FixtureRequest) -> Any:
    """A backend that can run here."""
    from opgold.harness import backends

    return _available(request, backends.get(request.param))


def _available(request: pytest.FixtureRequest, backend: Backend) -> Backend:
    if reason := backend.unavailable():
        _unusable(request, f"backend {backend.name} is not available: {reason}")
    return backend


def _unusable(request: pytest.FixtureRequest, message: str) -> NoReturn:
    """Skip the test, or fail it where the backend is required."""
    __tracebackhide__ = True
    if request.config.getoption("--opgold-require"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture
def opgold_op_name(request: pytest.FixtureRequest, opgold_backend: Any) -> str:
    """An op that the backend has."""
    return _present(request, opgold_backend, request.param)


@pytest.fixture
def opgold_case(request: pytest.FixtureRequest, opgold_backend: Any) -> Any:
    """A regression case of an op that the backend has."""
    from opgold.harness import casefile

    path: Path = request.param
    _present(request, opgold_backend, path.parent.name)
    return casefile.read(path)


@pytest.fixture
def opgold_sequence(request: pytest.FixtureRequest, opgold_backend: Any) -> Any:
    """A kept sequence, all of whose ops the backend has."""
    from opgold.harness import check, sequences

    if not opgold_backend.sequences:
        pytest.skip(f"backend {opgold_backend.name} plays no sequences")
    script = check.read(request.param)
    for op in sequences.PACKAGES[sequences.name_of(script)].OPS[script.form]:
        _present(request, opgold_backend, op)
    return script


def _present(request: pytest.FixtureRequest, backend: Any, op: str) -> str:
    if not backend.has(op):
        _unusable(request, f"backend {backend.name} does not have {op}")
    return op


@pytest.fixture(scope="session")
def opgold_module(request: pytest.FixtureRequest) -> str:
    """The module whose ops `opgold_op` calls: what `--opgold-module` says. A conftest.py may say another one."""
    return str(request.config.getoption("--opgold-module"))


@pytest.fixture
def opgold_op(request: pytest.FixtureRequest, opgold_module: str) -> HeldOps:
    """Calls ops of a module on Paddle tensors, by FastDeploy's names or opgold's; fails the test where one departs from
    its golden model."""
    from opgold.harness.backends import UnknownBackend
    from opgold.harness.backends.module import Module
    from opgold.harness.paddle.held import HeldOps

    try:
        module = Module(f"module:{opgold_module}")
    except UnknownBackend as error:
        pytest.fail(f"--opgold-module: {error}", pytrace=False)
    _available(request, module)
    return HeldOps(module, _failed, partial(_unusable, request))


def _failed(text: str) -> NoReturn:
    __tracebackhide__ = True
    pytest.fail(text)


@pytest.fixture
def opgold_ledger(request: pytest.FixtureRequest) -> Ledger:
    """The known failures."""
    return _ledger(request.config)


@pytest.fixture
def opgold_judge(
    request: pytest.FixtureRequest, opgold_backend: Any, opgold_ledger: Ledger
) -> Callable[[str, Sequence[Finding], str | None], None]:
    """Ends a test that has findings: it fails with those that are new; if all are known, its failure is expected.

    Takes the op or kind of sequences that was checked, the findings, and the name of the kept case that ran, if any.
    """

    def judge(op: str, findings: Sequence[Finding], case: str | None = None) -> None:
        fresh, known = opgold_ledger.split(op, findings)
        told = request.node.user_properties
        if case is not None:
            told.append((RAN, f"{opgold_backend.name}/{op}/{case}"))
        told += [(KNOWN, str(each)) for each in known]
        told += [(ENTRY, number) for number in sorted({number for each in known for number in each.entries})]
        if fresh:
            pytest.fail("\n\n".join(map(str, fresh)), pytrace=False)
        if known:
            pytest.xfail("; ".join(dict.fromkeys(each.reason for each in known)))

    return judge


class LedgerAudit:
    """Gathers what tests report of kept cases and known failures, and holds the ledger to it when the session ends."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._told: dict[str, list[Any]] = {RAN: [], KNOWN: [], ENTRY: []}
        self._problems: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties if report.when == "call" else ():
            if name in self._told:
                self._told[name].append(value)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self._told[RAN]:
            return
        ran = {tuple(text.split("/")) for text in self._told[RAN]}
        self._problems = _ledger(self._config).problems(ran, set(self._told[ENTRY]))
        if self._problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._told[KNOWN] or self._problems:
            terminalreporter.section("known failures")
        for line in self._told[KNOWN]:
            terminalreporter.line(line)
        for problem in self._problems:
            terminalreporter.line(problem, red=True)


@pytest.fixture
def opgold_examples(request: pytest.FixtureRequest) -> int:
    """How many generated cases an op gets under the chosen profile."""
    return PROFILES[request.config.getoption("--opgold-profile")]


@pytest.fixture
def opgold_seed(request: pytest.FixtureRequest) -> int:
    """What `--opgold-seed` says."""
    return int(request.config.getoption("--opgold-seed"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Under `-n auto`, at most a few workers a device when a device backend is tested; else xdist's own choice."""
    if all(name.endswith("-emu") for name in config.getoption("--opgold-backend") or ()):
        return None
    from opgold.harness import devices

    return devices.worker_limit(devices.visible())
