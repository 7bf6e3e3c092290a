"""Whether what docs/hosting.md names is there: flags, fields, errors, settings.

usage: hosting_test.py SOURCE BIN
"""
import pathlib
import re
import subprocess
import sys

from support import check, config_names

SOURCE, BIN = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PAGE = (SOURCE / "docs/hosting.md").read_text()
CODE = "".join(path.read_text() for folder in ("base", "cache", "client", "server")
               for path in sorted((SOURCE / folder).rglob("*.*"))
               if path.suffix in (".cc", ".h") and "_test." not in path.name)
UNITS = "".join(path.read_text()
                for path in (SOURCE / "deploy/systemd").iterdir())
# Settings of systemd that operators may add, which the units do not have.
NOT_OURS = {"MemoryMax", "TasksMax"}

named = set(re.findall(r"`([A-Z][A-Z]+(?:_[A-Z]+)+)`", PAGE)) - {"EDGEKILN_SERVER"}
check(len(named) > 25, named)
absent = {reason for reason in named if f'"{reason}"' not in CODE}
check(not absent, f"no such reason: {absent}")

# Texts of errors, which sources break over lines; parts of a text are joined there.
texts = re.sub(r'"\s*\n\s*"', "", CODE)
table = PAGE[PAGE.index("## Troubleshooting"):]
quoted = [text for row in re.findall(r"^\| ([^|]*)", table, re.M)
          for text in re.findall(r'"([^"]+)"', row)]
check(len(quoted) > 15, quoted)
for text in quoted:
    check(text in texts, f"no error says: {text}")

fields = set(config_names((SOURCE / "deploy/etc/edgekilnd.txtpb").read_text()))
limits = PAGE[PAGE.index("## Flags and config"):PAGE.index("## State")]
for row in re.findall(r"^\| `.*", limits, re.M):
    for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", row):
        check(name in fields, f"no such field of the config: {name}")

helps = {program: subprocess.run([BIN / program, "--help"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
         for program in ("edgekilnd", "edgekiln-worker")}
for program, row_of in (("edgekilnd", "| flag of `edgekilnd`"),
                        ("edgekiln-worker", "| flag of `edgekiln-worker`")):
    table = PAGE[PAGE.index(row_of):].split("\n\n")[0]
    shown = set(re.findall(r"`(--[a-z-]+)", table.split("\n", 2)[2]))
    check(len(shown) > 4, table)
    for flag in shown:
        check(re.search(rf"{flag}\b", helps[program]), f"{program} has no {flag}")

for setting in re.findall(r"`([A-Z][A-Za-z]+)=", PAGE):
    check(setting in NOT_OURS or f"{setting}=" in UNITS, f"no unit has {setting}=")
