"""What systemd says of the units: whether it understands every line, and how much
of the machine they leave open.

usage: units_test.py PACKAGE_FOLDER
"""
import pathlib
import sys
import tempfile

from support import check, find_package, need, run

need("systemd-analyze", "dpkg-deb")
# In tenths. Most of it are sockets and the network, which a daemon is for.
MAX_EXPOSURE = 13

with tempfile.TemporaryDirectory(prefix="ek_units_") as scratch:
    run("dpkg-deb", "-x", find_package(sys.argv[1]), scratch)
    for unit in ("edgekilnd.service", "edgekiln-worker@.service"):
        # Where the programs are now, which it looks for.
        text = (pathlib.Path(scratch) / "usr/lib/systemd/system" / unit).read_text()
        file = pathlib.Path(scratch) / unit
        file.write_text(text.replace("=/usr/bin/", f"={scratch}/usr/bin/"))
        # It ends with 0 after keys that it does not know.
        said = run("systemd-analyze", "verify", "--man=no", file)
        check(said == "", said)
        instance = unit.replace("@.", "@farm:7434.")
        print(run("systemd-analyze", "security", "--offline=true", f"--root={scratch}",
                  f"--threshold={MAX_EXPOSURE}", instance).splitlines()[-1])
