"""Says which sources of a target may be compiled as one file.

usage: group_sources.py LIST

LIST has lines "target|path". Printed are lines "target|group|path", a group
being numbered from 0 in its target; sources that stay alone are left out.

Most of the time to compile a file goes to the headers it includes. Files of one
group mean the same together as apart: none mentions a name that another has for
itself (in an anonymous namespace, as a macro, an alias or a using-declaration).
What changes the meaning of others without a name stays alone: using-directives,
operators of an anonymous namespace, braces that only one branch of an #if has.
"""
import re
import sys

LARGEST = 12

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|'
    r'(?<!\w)(?:u8|[uUL])?R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"|'
    r'"(?:\\.|[^"\\\n])*"|'
    r"(?<!\w)(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'|"
    r"#[^\n]*(?:(?<=\\)\n[^\n]*)*|[A-Za-z_]\w*|[0-9][\w'.]*|::|->|\S",
    re.S)
WORD = re.compile(r"[A-Za-z_]\w*$")
# Words before "(", "=", ";", "[" or "{" that name nothing.
KEYWORDS = frozenset("""
    alignas auto bool char class const constexpr decltype default double
    enum explicit float for if inline int namespace noexcept operator override
    requires return sizeof static static_assert struct switch template typename
    using void while TEST TEST_F TEST_P INSTANTIATE_TEST_SUITE_P""".split())


def tokens(text):
    """Those of C++, without comments; literals are empty strings."""
    out = []
    for match in TOKEN.finditer(text):
        token = match[0]
        if token.startswith(("//", "/*")):
            continue
        literal = token[-1] in "\"'"
        out.append('""' if literal and token[0] != "#" else token)
    return out


def opened(found, i):
    """What kind of scope the brace at `i` opens."""
    j = i - 1
    while j >= 0 and found[j] != "namespace" and (
            found[j] == "::" or WORD.match(found[j])):
        j -= 1
    if j < 0 or found[j] != "namespace":
        return "other"
    return "anonymous" if j == i - 1 else "namespace"


def names(text):
    """(names that a file has for itself, all that it mentions unqualified).

    None for a file that must stay alone. Both sets may have more, by which a
    group is smaller than it could be.
    """
    found = tokens(text)
    own, mentioned = set(), set()
    scopes = []  # Of open braces: "namespace", "anonymous" or "other".
    start = 0  # Of the present declaration.
    for i, token in enumerate(found):
        before = found[i - 1] if i else ""
        after = found[i + 1] if i + 1 < len(found) else ""
        if token.startswith("#"):
            macro = re.match(r"#\s*(?:define|undef)\s+(\w+)", token)
            if macro:
                own.add(macro[1])
            mentioned.update(re.findall(r"[A-Za-z_]\w*", token))
        elif token in (";", "{", "}"):
            start = i + 1
            if token == "{":
                scopes.append(opened(found, i))
            elif token == "}":
                if not scopes:
                    return None
                scopes.pop()
        elif WORD.match(token):
            head = found[start:i]
            if before not in (".", "->", "::") or "using" in head:
                mentioned.add(token)
            if "other" in scopes:
                continue
            private = ("anonymous" in scopes or "static" in head or
                       "constexpr" in head or "using" in head or
                       "namespace" in head)
            if (token == "namespace" and before == "using" or
                    token == "operator" and private):
                return None
            if token in KEYWORDS or before == "::" and "using" not in head:
                continue
            if before in ("struct", "class", "enum", "union"):
                defines = True
            elif before == "namespace":
                defines = after == "="
            elif before == "::":
                defines = after in (";", ",")
            else:
                # Behind its type, or behind `using`.
                defines = (after in ("(", "=", ";", "[", "{") and
                           before not in ("public", "private", "protected") and
                           bool(WORD.match(before) or before in (">", "*", "&")))
            if private and defines:
                own.add(token)
    return None if scopes else (own, mentioned)


def groups(files):
    """Lists of paths, each as long as may be; files that stay alone come last."""
    out, alone = [], []
    for path in files:
        with open(path, encoding="utf-8") as file:
            found = names(file.read())
        if found is None:
            alone.append([path])
            continue
        own, mentioned = found
        for group in out:
            if (len(group["paths"]) < LARGEST and
                    own.isdisjoint(group["mentioned"]) and
                    mentioned.isdisjoint(group["own"])):
                break
        else:
            group = {"paths": [], "own": set(), "mentioned": set()}
            out.append(group)
        group["paths"].append(path)
        group["own"] |= own
        group["mentioned"] |= mentioned
    return [group["paths"] for group in out] + alone


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    targets = {}
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            target, path = line.rstrip("\n").split("|", 1)
            targets.setdefault(target, []).append(path)
    for target, files in targets.items():
        for number, group in enumerate(groups(files)):
            if len(group) > 1:
                for path in group:
                    print(f"{target}|{number}|{path}")


if __name__ == "__main__":
    main()
