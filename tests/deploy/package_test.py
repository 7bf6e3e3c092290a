"""What is in the package, without installing it.

usage: package_test.py SOURCE PACKAGE_FOLDER
"""
import gzip
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import config_names, find_package, need, unit_values

SOURCE = pathlib.Path(sys.argv[1])
need("dpkg-deb", "readelf")
PACKAGE = find_package(sys.argv[2])
PROGRAMS = ("edgekiln", "edgekilnd", "edgekiln-worker")
UNITS = ("edgekilnd.service", "edgekiln-worker@.service")


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def config_fields():
    text = (SOURCE / "proto/edgekiln/v1/config.proto").read_text()
    return set(re.findall(r"^  \w+ (\w+) = \d+;", text, re.M))


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="ek_package_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.root, cls.control = cls.folder / "root", cls.folder / "control"
        output("dpkg-deb", "-x", PACKAGE, cls.root)
        output("dpkg-deb", "-e", PACKAGE, cls.control)
        cls.listing = [line.split(None, 5)
                       for line in output("dpkg-deb", "-c", PACKAGE).splitlines()]
        cls.units = {unit: (cls.root / "usr/lib/systemd/system" / unit).read_text()
                     for unit in UNITS}
        cls.config = (cls.root / "etc/edgekiln/edgekilnd.txtpb").read_text()

    def fields(self):
        return dict(re.findall(r"^(\S+): (.*)", (self.control / "control").read_text(),
                               re.M))

    def test_files_are_roots_and_in_their_places(self):
        for mode, owner, _, _, _, path in self.listing:
            self.assertEqual(owner, "root/root", path)
            self.assertRegex(mode, r"^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x)$", path)
            self.assertRegex(path, r"^\./(usr/.*|etc/.*|usr|etc)?$")
            if mode == "-rwxr-xr-x":
                self.assertIn(path, [f"./usr/bin/{name}" for name in PROGRAMS] +
                              ["./usr/share/edgekiln/ci/check.sh"])

    def test_everything_is_there(self):
        pages = output(self.root / "usr/bin/edgekiln", "man", "--list").split()
        self.assertGreater(len(pages), 10)
        for path in [*(f"bin/{name}" for name in PROGRAMS),
                     *(f"share/man/man1/{page}.1.gz" for page in pages),
                     "share/man/man8/edgekilnd.8.gz",
                     "share/man/man8/edgekiln-worker.8.gz",
                     "share/bash-completion/completions/edgekiln",
                     "share/zsh/vendor-completions/_edgekiln",
                     "share/doc/edgekiln/copyright",
                     "share/doc/edgekiln/changelog.gz",
                     "share/doc/edgekiln/hosting.md",
                     "share/doc/edgekiln/example/digits.onnx",
                     "share/edgekiln/proto/edgekiln/v1/config.proto",
                     "lib/sysusers.d/edgekiln.conf"]:
            self.assertTrue((self.root / "usr" / path).is_file(), path)

    def test_every_setting_is_a_conffile(self):
        etc = {"/" + str(path.relative_to(self.root))
               for path in (self.root / "etc").rglob("*") if path.is_file()}
        self.assertEqual(set((self.control / "conffiles").read_text().split()), etc)

    def test_versions_agree(self):
        version = self.fields()["Version"]
        project = re.search(r"project\(edgekiln VERSION (\S+)",
                            (SOURCE / "CMakeLists.txt").read_text())[1]
        with gzip.open(self.root / "usr/share/doc/edgekiln/changelog.gz", "rt") as file:
            changelog = re.match(r"edgekiln \((\S+)\)", file.readline())[1]
        self.assertEqual((version, changelog), (project, project))
        for name in PROGRAMS:
            said = output(self.root / "usr/bin" / name, "--version")
            self.assertIn(project, said)

    def test_dependencies_are_those_of_the_programs(self):
        depends = self.fields()["Depends"]
        for library in ("libc6", "libgrpc++", "libsqlite3-0", "libseccomp2", "adduser"):
            self.assertIn(library, depends)

    def test_programs_are_stripped(self):
        for name in PROGRAMS:
            sections = output("readelf", "-SW", self.root / "usr/bin" / name)
            self.assertNotIn(".symtab", sections)
            self.assertNotIn(".debug_info", sections)

    def test_manual_pages_show_the_flags(self):
        for name in PROGRAMS[1:]:
            with gzip.open(self.root / f"usr/share/man/man8/{name}.8.gz", "rt") as file:
                page = file.read().replace("\\-", "-")
            flags = re.findall(r"^  (--[a-z-]+)",
                               output(self.root / "usr/bin" / name, "--help"), re.M)
            self.assertGreater(len(flags), 8)
            for flag in flags:
                self.assertIn(flag, page)

    def test_scripts_parse(self):
        for name in ("postinst", "prerm", "postrm"):
            output("sh", "-n", self.control / name)

    def test_scripts_pass_shellcheck(self):
        if shutil.which("shellcheck") is None:
            self.skipTest("no shellcheck")
        output("shellcheck", *(self.control / name
                               for name in ("postinst", "prerm", "postrm")))

    def test_the_config_names_every_field(self):
        self.assertEqual(set(config_names(self.config)), config_fields())

    def test_units_name_what_is_there(self):
        for name, text in self.units.items():
            values = unit_values(text)
            self.assertNotIn("@", text.replace("@.service", "").replace(
                "@system-service", "").replace("edgekiln-worker@farm", "").replace(
                "@privileged @keyring @memlock", ""), name)
            [start] = values["ExecStart"]
            self.assertTrue((self.root / start.split()[0][1:]).is_file(), start)
            for page, section in re.findall(r"man:([\w-]+)\((\d)\)",
                                            values["Documentation"][0]):
                path = f"usr/share/man/man{section}/{page}.{section}.gz"
                self.assertTrue((self.root / path).is_file(), path)
            for path in re.findall(r"file:/(\S+)", values["Documentation"][0]):
                self.assertTrue((self.root / path).is_file(), path)
        config = re.search(r"--config /(\S+)", self.units[UNITS[0]])[1]
        self.assertTrue((self.root / config).is_file())

    def test_systemd_waits_longer_than_the_drain(self):
        stop = int(unit_values(self.units[UNITS[0]])["TimeoutStopSec"][0])
        drain = int(config_names(self.config)["drain_seconds"])
        self.assertGreaterEqual(stop, drain + 10)

    def serve(self, config):
        """Whether the daemon comes up with a config, but for addresses and folder."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        config = re.sub(r'(: "127\.0\.0\.1):\d+"', r'\1:0"', config)
        (folder / "config.txtpb").write_text(
            config.replace("/var/lib/edgekiln", str(folder / "state")))
        (folder / "run").mkdir(mode=0o700)
        with (folder / "log").open("w") as log:
            daemon = subprocess.Popen(
                [self.root / "usr/bin/edgekilnd", "--config", folder / "config.txtpb",
                 "--state", folder / "state", "--workers-listen", "127.0.0.1:0",
                 "--workers", "0", "--ready-file", folder / "ready"],
                env={"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder / "run"),
                     "PATH": os.defpath}, stderr=log)
        try:
            until = time.monotonic() + 30
            while not (folder / "ready").exists():
                self.assertIsNone(daemon.poll(), (folder / "log").read_text())
                self.assertLess(time.monotonic(), until)
                time.sleep(0.05)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(30)

    def test_the_daemon_takes_the_config(self):
        self.serve(self.config)

    def test_the_daemon_takes_every_default_that_is_shown(self):
        self.serve(re.sub(r"^# ([a-z_]+: *\S)", r"\1", self.config, flags=re.M))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
