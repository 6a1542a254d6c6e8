"""Rewrites device C++ of both vendors into standard C++: launches and shared-memory declarations, nothing else.

Tokens keep their order and their lines, so that one ``#line`` at the top keeps every tool on the original file::

    f<T><<<grid, block>>>(x, n);      ->  ::opgold::emulator::Launcher(...the kernel...).on(grid, block)(x, n);
    __shared__ int x[32], y;          ->  typedef int opgold_type_x[32]; OPGOLD_SHARED(opgold_type_x, x); ...and y
    extern __shared__ float x[];      ->  typedef float opgold_type_x; opgold_type_x* x = ...;
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_TOKEN = re.compile(
    r"""
    (?P<blank>  (?: [ \t\r\n\f\v] | \\\r?\n | //(?:\\\r?\n|[^\n])* | /\*.*?\*/ )+ )
  | (?P<text>   (?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)"
              | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
              | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+' )
  | (?P<number> \.?[0-9](?:[eEpP][+-]|'?[\w.])* )
  | (?P<name>   [A-Za-z_]\w* )
  | (?P<sign>   :: | -> | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = {close: open_ for open_, close in _OPEN.items()}
_SHARED = {"__shared__": "OPGOLD_SHARED", "__group_shared__": "OPGOLD_GROUP_SHARED"}
# Names that cannot be part of the expression that names a kernel.
_KEYWORDS = {
    "return",
    "else",
    "do",
    "case",
    "default",
    "goto",
    "throw",
    "new",
    "delete",
    "co_return",
    "and",
    "or",
    "not",
}


class RewriteError(ValueError):
    """A construct that the emulator cannot express; the message starts with file and line."""


@dataclass
class Token:
    kind: str
    text: str


def tokenize(source: str) -> list[Token]:
    """Splits `source` so that the texts joined give it back."""
    tokens = []
    for match in _TOKEN.finditer(source):
        kind = match.lastgroup or "sign"
        tokens.append(Token("text" if kind == "fence" else kind, match.group()))
    return tokens


def rewrite(source: str, path: Path | str) -> str:
    """The C++ text of CUDA `source`; `path` is what diagnostics and debug information will name."""
    tokens = tokenize(source)
    _rewrite_shared(tokens, path)
    _rewrite_launches(tokens, path)
    return f"#line 1 {json.dumps(str(path))}\n" + "".join(token.text for token in tokens)


def _fail(tokens: list[Token], at: int, path: Path | str, message: str) -> RewriteError:
    line = 1 + sum(token.text.count("\n") for token in tokens[:at])
    return RewriteError(f"{path}:{line}: {message}")


def _next(tokens: list[Token], at: int) -> int:
    """The first token at or after `at` that is not blank; len(tokens) if there is none."""
    while at < len(tokens) and tokens[at].kind == "blank":
        at += 1
    return at


def _previous(tokens: list[Token], at: int) -> int:
    """The last token at or before `at` that is not blank; -1 if there is none."""
    while at >= 0 and tokens[at].kind == "blank":
        at -= 1
    return at


def _text(tokens: list[Token], start: int, end: int) -> str:
    return "".join(token.text for token in tokens[start:end])


def _flat(text: str) -> str:
    """`text` on one line, without comments, for a copy of tokens that keep their lines elsewhere."""
    parts = (" " if token.kind == "blank" else token.text for token in tokenize(text))
    return "".join(parts).strip()


def _is_sign(tokens: list[Token], at: int, sign: str) -> bool:
    return 0 <= at < len(tokens) and tokens[at].kind == "sign" and tokens[at].text == sign


# --- launches ---


def _rewrite_launches(tokens: list[Token], path: Path | str) -> None:
    at = 0
    while at + 2 < len(tokens):
        if not all(_is_sign(tokens, at + i, "<") for i in range(3)):
            at += 1
            continue
        start = _kernel_start(tokens, at, path)
        close = _configuration_end(tokens, at, path)
        kernel = _text(tokens, start, at).rstrip()
        blank = _text(tokens, start, at)[len(kernel) :]
        flat = _flat(kernel)
        # What a name means may depend on the arguments; any other expression is evaluated once, on the host.
        is_name = flat[-1] not in ")]"
        call = f"[=](auto... opgold_a) {{ {kernel}(opgold_a...); }}"
        if not is_name:
            call = f"[opgold_kernel = {kernel}](auto... opgold_a) {{ opgold_kernel(opgold_a...); }}"
        head = (
            f"::opgold::emulator::Launcher(OPGOLD_NAME({flat}), __FILE__, __LINE__, {call}, "
            f"[=](auto opgold_tag) -> decltype(::opgold::emulator::address_of(opgold_tag, {flat})) "
            f"{{ return ::opgold::emulator::address_of(opgold_tag, {flat}); }}).on("
        )
        tokens[close : close + 3] = [Token("sign", ")")]
        tokens[start : at + 3] = [Token("rewritten", head + blank)]
        at = start + 1


def _kernel_start(tokens: list[Token], launch: int, path: Path | str) -> int:
    """Where the expression before `<<<` starts: names joined by `::`, `.`, `->`, with brackets after each."""
    at = _previous(tokens, launch - 1)
    start = -1
    while at >= 0:
        if tokens[at].kind == "sign" and tokens[at].text in _CLOSE:
            at = _matching_open(tokens, at)
            start = at
            at = _previous(tokens, at - 1)
            continue
        if _is_sign(tokens, at, ">"):
            at = _previous(tokens, _template_open(tokens, at, path) - 1)
            continue
        if tokens[at].kind != "name" or tokens[at].text in _KEYWORDS:
            break
        start = at
        before = _previous(tokens, at - 1)
        if before >= 0 and tokens[before].kind == "name" and tokens[before].text == "template":
            before = _previous(tokens, before - 1)
        if before < 0 or tokens[before].kind != "sign" or tokens[before].text not in ("::", ".", "->"):
            break
        start = before  # a leading `::` stays
        at = _previous(tokens, before - 1)
        # `return ::kernel` and `; ::kernel`: what stands before is not part of the name.
        if (
            at < 0
            or tokens[at].text in _KEYWORDS
            or (tokens[at].kind == "sign" and tokens[at].text not in (")", "]", ">"))
        ):
            break
    if start < 0:
        raise _fail(tokens, launch, path, "`<<<` follows nothing that could name a kernel")
    return start


def _matching_open(tokens: list[Token], close: int) -> int:
    depth = 0
    for at in range(close, -1, -1):
        if tokens[at].kind == "sign":
            depth += (tokens[at].text in _CLOSE) - (tokens[at].text in _OPEN)
            if depth == 0:
                return at
    return 0


def _template_open(tokens: list[Token], close: int, path: Path | str) -> int:
    depth, at = 0, close
    while at >= 0:
        token = tokens[at]
        if token.kind == "sign":
            if token.text in _CLOSE:
                at = _matching_open(tokens, at)
            elif token.text in (">", "<"):
                depth += 1 if token.text == ">" else -1
                if depth == 0:
                    return at
            elif token.text in ";{":
                break
        at -= 1
    raise _fail(tokens, close, path, "cannot find the `<` of the kernel's template arguments")


def _configuration_end(tokens: list[Token], launch: int, path: Path | str) -> int:
    """The first token of the `>>>` that closes a launch.

    Template arguments of the configuration may end in `>>>(` too, so the last one before the statement's end counts.
    """
    depth, found = 0, -1
    in_directive = _in_directive(tokens, launch)
    for at in range(launch + 3, len(tokens)):
        token = tokens[at]
        if in_directive and _ends_directive(token):
            break
        if token.kind != "sign":
            continue
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth < 0 or (depth == 0 and token.text == ";") or all(_is_sign(tokens, at + i, "<") for i in range(3)):
            break
        closes = depth == 0 and all(_is_sign(tokens, at + i, ">") for i in range(3))
        if closes and _is_sign(tokens, _next(tokens, at + 3), "("):
            found = at
    if found < 0:
        raise _fail(tokens, launch, path, "this launch has no `>>>` followed by its arguments")
    return found


def _ends_directive(token: Token) -> bool:
    return token.kind == "blank" and "\n" in re.sub(r"\\\r?\n|/\*.*?\*/", "", token.text, flags=re.DOTALL)


def _in_directive(tokens: list[Token], at: int) -> bool:
    while at > 0 and not _ends_directive(tokens[at - 1]):
        at -= 1
    return _is_sign(tokens, _next(tokens, at), "#")


# --- shared memory ---


def _rewrite_shared(tokens: list[Token], path: Path | str) -> None:
    for at in range(len(tokens)):
        if tokens[at].kind != "name" or tokens[at].text not in _SHARED:
            continue
        macro = _SHARED[tokens[at].text]
        start, dynamic = _declaration_start(tokens, at)
        if not _inside_function(tokens, start):
            raise _fail(
                tokens,
                at,
                path,
                "declare shared memory inside the kernel: out here the emulator cannot tell whose it is",
            )
        end = _declaration_end(tokens, at, path)
        specifiers = [i for i in range(start, at + 1) if tokens[i].text in (*_SHARED, "extern", "static", "volatile")]
        volatile = any(tokens[i].text == "volatile" for i in specifiers)
        for i in specifiers:
            tokens[i] = Token("blank", "")
        type_end, declarators = _split_declarators(tokens, start, end)
        type_text = ("volatile " if volatile else "") + _text(tokens, start, type_end).lstrip(" ")
        out = []
        for number, (name, extents, breaks) in enumerate(declarators):
            base = type_text if number == 0 else "\n" * breaks + _flat(type_text)
            if not base[-1:].isspace():
                base += " "
            if dynamic:
                if not re.fullmatch(r"\s*\[\s*\]\s*", _flat(extents)):
                    raise _fail(tokens, at, path, f"`extern __shared__ {name}` is not an array without extent")
                out.append(
                    f"typedef {base}opgold_type_{name}; opgold_type_{name}* {name} = "
                    f'::opgold::emulator::dynamic_shared_pointer<opgold_type_{name}>("{name}")'
                    + re.sub(r"[^\n]", "", extents)
                )
            else:
                out.append(f"typedef {base}opgold_type_{name}{extents}; {macro}(opgold_type_{name}, {name})")
        tokens[start] = Token("rewritten", "; ".join(out))
        for i in range(start + 1, end):
            tokens[i] = Token("blank", "")


def _declaration_start(tokens: list[Token], at: int) -> tuple[int, bool]:
    """Takes in the qualifiers that may stand before `__shared__`."""
    start, dynamic = at, False
    while True:
        before = _previous(tokens, start - 1)
        if before >= 0 and tokens[before].text in ("extern", "static", "volatile", "const", "__simd__"):
            start, dynamic = before, dynamic or tokens[before].text == "extern"
        elif _is_sign(tokens, before, ")"):  # alignas(16), __align__(16)
            open_ = _matching_open(tokens, before)
            name = _previous(tokens, open_ - 1)
            if name < 0 or tokens[name].text not in ("alignas", "__align__"):
                return start, dynamic
            start = name
        else:
            return start, dynamic


def _inside_function(tokens: list[Token], at: int) -> bool:
    """Whether some enclosing brace follows a parameter list, that is, opens a function or a lambda."""
    depth = 0
    for i in range(at - 1, -1, -1):
        if tokens[i].kind != "sign" or tokens[i].text not in "{}":
            continue
        depth += 1 if tokens[i].text == "}" else -1
        if depth < 0:
            depth = 0
            before = _previous(tokens, i - 1)
            while (
                before >= 0
                and tokens[before].kind == "name"
                and tokens[before].text in ("const", "noexcept", "mutable", "override")
            ):
                before = _previous(tokens, before - 1)
            if _is_sign(tokens, before, ")"):
                return True
    return False


def _declaration_end(tokens: list[Token], at: int, path: Path | str) -> int:
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i].kind != "sign":
            continue
        depth += (tokens[i].text in _OPEN) - (tokens[i].text in _CLOSE)
        if tokens[i].text == ";" and depth == 0:
            return i
    raise _fail(tokens, at, path, "this declaration of shared memory does not end")


def _split_declarators(tokens: list[Token], start: int, end: int) -> tuple[int, list[tuple[str, str, int]]]:
    """Where the type ends, and (name, extents, line breaks before it) of each declarator of `T a[2][3], b;`."""
    depth = angle = 0
    commas = []
    for i in range(start, end):
        if tokens[i].kind != "sign":
            continue
        depth += (tokens[i].text in _OPEN) - (tokens[i].text in _CLOSE)
        if depth == 0:
            angle = max(0, angle + (tokens[i].text == "<") - (tokens[i].text == ">"))
            if tokens[i].text == "," and angle == 0:
                commas.append(i)
    bounds = [start, *(comma + 1 for comma in commas)]
    declarators = []
    type_end = start
    for number, (low, high) in enumerate(zip(bounds, [*commas, end], strict=True)):
        name = _previous(tokens, high - 1)
        while _is_sign(tokens, name, "]"):
            name = _previous(tokens, _matching_open(tokens, name) - 1)
        if number == 0:
            type_end = name
        declarators.append((tokens[name].text, _text(tokens, name + 1, high), _text(tokens, low, name).count("\n")))
    return type_end, declarators
