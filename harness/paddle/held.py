"""Ops of a module that are called by a test, and are held to their golden models at each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

from opgold.harness import check
from opgold.harness.backends.module import Module
from opgold.harness.backends.played import Played
from opgold.harness.case import Case
from opgold.harness.finding import Finding
from opgold.harness.oracles import judge
from opgold.harness.paddle.form import sharing
from opgold.harness.paddle.observed import Observed, Observer, Unobservable, drawn
from opgold.harness.paddle.parameters import CallMismatch
from opgold.harness.runner import run_golden, try_case
from opgold.reference import schema
from opgold.reference.schema import ContractError


@dataclass(frozen=True)
class _Begun:
    """A call of a test: its arguments by name, what they held, and the case that it is."""

    given: Mapping[str, Any]
    observed: Observed
    case: Case


class HeldOps:
    """Calls ops as `held("rebuild_padding", x, ...)` or `held.rebuild_padding(x, ...)`, and returns what they return.

    `fail` is told what is found, and ends the test; so does `lacking`, which is told of an op that the module lacks.
    What an op raises goes through where its golden model refuses the inputs, too.
    """

    def __init__(self, module: Module, fail: Callable[[str], NoReturn], lacking: Callable[[str], NoReturn]) -> None:
        self._module = module
        self._fail = fail
        self._lacking = lacking

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self, name)

    def __call__(self, name: str, /, *args: Any, **keywords: Any) -> Any:
        """Call an op, by FastDeploy's name or by opgold's. Raises UnknownOp, and what the op raises."""
        __tracebackhide__ = True
        op = self._op(name)
        if not self._module.has(op):
            self._lacking(f"{self._module.name} does not have {name}")
        function, observer = self._observer(op)
        begun, misfit = self._begin(observer, args, keywords)
        try:
            returned = function(*args, **keywords)
        except Exception as error:
            if begun is None or begun.case.refused is not None:
                raise  # as is right, for inputs that are outside the contract
            begun.observed.raised(error)
            self._judge(begun)
            raise
        if begun is None:
            self._failed(op, f"the test's call does not fit the op, and the op took it: {misfit}")
        if begun.case.refused and (own := drawn(op, self._module.bound(op)[1], begun.case.refused)):
            self._failed(op, f"the call cannot be held to the golden model: the op makes {own} itself")
        begun.observed.ended(begun.given, returned)
        self._judge(begun)
        return returned

    def _observer(self, op: str) -> tuple[Callable[..., Any], Observer]:
        __tracebackhide__ = True
        said = ""
        try:
            function, binding = self._module.bound(op)
            observer = Observer(op, function, binding)
        except CallMismatch as mismatch:
            said = str(mismatch)
        if said:
            self._failed(op, said)
        return function, observer

    def _begin(self, observer: Observer, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[_Begun | None, str]:
        """The call as it begins, hostile if the golden model refuses its inputs; or why it is no call of the op."""
        try:
            given = observer.named(args, keywords)
            observed = observer.begin(given)
            case = observed.case(self._module.fixed(observed.op))
            case.signature.bind(case.inputs)
        except (ContractError, Unobservable) as misfit:
            return None, str(misfit)
        return _Begun(given, observed, replace(case, refused=run_golden(case).refusal)), ""

    def _op(self, name: str) -> str:
        """The op of a name. Of several that FastDeploy has of one name, the one that the module has."""
        versions = sharing(name)
        if not versions or (name in versions and self._module.has(name)):
            return schema.load(name).op
        return next((op for op in versions if self._module.has(op)), versions[0])

    def _judge(self, begun: _Begun) -> None:
        """Fail the test if there are findings on a call that is over."""
        __tracebackhide__ = True
        player = Played(self._module.name, self._module)
        player.add(begun.case, begun.observed)
        findings = list(judge(try_case(begun.case, player)))
        if findings and begun.case.refused is None:
            findings = check.save(begun.case, findings)
        if findings:
            self._fail("\n\n".join(map(str, findings)))

    def _failed(self, op: str, message: str) -> NoReturn:
        __tracebackhide__ = True
        self._fail(str(Finding(op, self._module.name, "launch", message)))
