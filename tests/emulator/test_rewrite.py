"""The rewriter changes launches and shared declarations, and nothing else, on their lines."""

import pytest

from opgold.kernels import build
from opgold.kernels.emulator.rewrite import RewriteError, rewrite, tokenize

INSIDE = "__global__ void k(int n) {{ {} }}"


def body(source: str) -> str:
    return rewrite(source, "unit.cu").split("\n", 1)[1]


@pytest.mark.parametrize(
    "source",
    [
        "int a = b << 3 >> 2;",
        'auto s = "k<<<1, 2>>>(x)";',
        'auto s = R"(k<<<1>>>(x) __shared__ int a[3];)";',
        'auto s = R"x(k<<<1>>>(x) )" )x";',
        "// k<<<1, 2>>>(x)\nint a;",
        "/* __shared__ int a[3]; */ int b;",
        "std::vector<std::vector<std::vector<int>>> v;",
        "auto n = 1'000'000; char c = '\\''; char d = '\"';",
        "#define ERROR don't\nint a;",
        "int __shared__x; int shared__ = 0;",
    ],
)
def test_the_rest_is_untouched(source):
    assert body(source) == source


@pytest.mark.parametrize(
    ("source", "kernel"),
    [
        ("k<<<1, 2>>>(x);", "k"),
        ("return k<<<1, 2>>>(x);", "k"),
        ("if (a) k<<<1, 2>>>(x); else k<<<3, 4>>>(x);", "k"),
        ("::a::b::k<<<1, 2>>>(x);", "::a::b::k"),
        ("return ::k<<<1, 2>>>(x);", "::k"),
        ("a::k<int, 32><<<1, 2>>>(x);", "a::k<int, 32>"),
        ("k<A<B<int>>, (3 > 2)><<<grid, block, f<g<int>>(1), s>>>(x);", "k<A<B<int>>, (3 > 2)>"),
        ("k<decltype(a < b), sizeof(T)>\n  <<<1, 2>>>(x);", "k<decltype(a < b), sizeof(T)>"),
        ("object.template k<T> <<<1, 2>>>(x);", "object.template k<T>"),
        ("table[i + 1]<<<1, 2>>>(x);", "table[i + 1]"),
        ("KERNEL(int, 3)<<<1, 2>>>(x);", "KERNEL(int, 3)"),
        ("this->kernels.at(2)<<<1, 2>>>(x);", "this->kernels.at(2)"),
    ],
)
def test_the_kernel_of_a_launch(source, kernel):
    text = body(source)
    assert f"OPGOLD_NAME({kernel})" in text
    assert "<<<" not in text
    assert ">>>(" not in text
    assert text.endswith("(x);")


def test_configuration_and_arguments_are_kept():
    text = body("k<<<dim3(1, 2), f<g<h<int>>>(), 0>>>(x, [&](int a) { return a; });")
    assert ".on(dim3(1, 2), f<g<h<int>>>(), 0)(x, [&](int a) { return a; });" in text


@pytest.mark.parametrize(
    ("declaration", "variables"),
    [
        ("__shared__ int a[32];", [("int", "a", "[32]")]),
        ("static __shared__ float a;", [("float", "a", "")]),
        ("__shared__ int a[2][N + 1], b;", [("int", "a", "[2][N + 1]"), ("int", "b", "")]),
        ("__shared__ typename Scan::TempStorage t;", [("typename Scan::TempStorage", "t", "")]),
        ("__shared__ Map<int, A<2>> m[N < 3 ? 1 : 2];", [("Map<int, A<2>>", "m", "[N < 3 ? 1 : 2]")]),
        ("__shared__ union { A a; B b; } t;", [("union { A a; B b; }", "t", "")]),
        ("__shared__ __align__(16) char a[64];", [("__align__(16) char", "a", "[64]")]),
        ("alignas(16) __shared__ char a[64];", [("alignas(16) char", "a", "[64]")]),
        ("volatile __shared__ int a[4];", [("volatile int", "a", "[4]")]),
    ],
)
def test_shared_variables(declaration, variables):
    expected = " ".join(
        f"typedef {base} opgold_type_{name}{extents}; OPGOLD_SHARED(opgold_type_{name}, {name});"
        for base, name, extents in variables
    )
    assert " ".join(body(INSIDE.format(declaration)).split()) == INSIDE.format(expected)


def test_dynamic_shared_memory_is_a_pointer():
    text = " ".join(body(INSIDE.format("extern __shared__ float4 a[];")).split())
    assert "typedef float4 opgold_type_a; opgold_type_a* a = " in text
    assert 'dynamic_shared_pointer<opgold_type_a>("a");' in text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("\n\nextern __shared__ int a[];", "unit.cu:3: .*inside the kernel"),
        ("namespace n {\n__shared__ int a[3];\n}", "unit.cu:2: .*inside the kernel"),
        (INSIDE.format("\nextern __shared__ int a;"), "unit.cu:2: .*without extent"),
        ("k<<<1, 2;", "unit.cu:1: .*no `>>>`"),
        ("= <<<1, 2>>>(x);", "unit.cu:1: .*kernel"),
    ],
)
def test_what_cannot_be_expressed_is_refused_with_its_line(source, message):
    with pytest.raises(RewriteError, match=message):
        rewrite(source, "unit.cu")


def test_lines_stay():
    source = """#define L(T)  \\
  k<T><<<1,     \\
         2>>>(x) // k<<<1>>>
__global__ void f() {
  __shared__ struct {
    int a;
  } s,
      t[3];
  extern __shared__
      float d[
      ];
  k
    <int>
    <<<1, 2>>>
    (x);
  last();
}
"""
    text = body(source)
    assert text.count("\n") == source.count("\n")
    assert text.splitlines()[15].strip() == "last();"
    assert text.splitlines()[14].strip() == ")(x);" or text.splitlines()[14].strip() == "(x);"


@pytest.mark.parametrize("source", sorted((build.KERNELS / "cuda").glob("*.cu*")), ids=lambda path: path.name)
def test_tokens_of_every_kernel_join_to_the_source(source):
    text = source.read_text()
    assert "".join(token.text for token in tokenize(text)) == text
    assert rewrite(text, source).count("\n") == text.count("\n") + 1
