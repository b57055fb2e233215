"""A server of PostgreSQL for tests: a temporary folder, a socket, a user who may run it."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

psycopg = pytest.importorskip("psycopg", reason="psycopg, which reaches PostgreSQL, is missing")


def programs():
    """The folder of the newest server; None where none is installed."""
    paths = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"),  # noqa: PTH207
                   key=lambda name: int(name.split("/")[4]))
    if not paths and (named := shutil.which("initdb")):
        paths = [named]
    return Path(paths[-1]).parent if paths else None


def _user():
    """Who runs the server: root may not."""
    if os.getuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Server:
    """One server, fsync on."""

    def __init__(self, place, bin_folder):
        self.place, self.bin, self.process = place, bin_folder, None
        self.settings, self.port = ["-c", "listen_addresses="], 5432

    @classmethod
    @contextmanager
    def started(cls, name=None):
        """A server for the time of the block; one with a name proves it, on this machine's net."""
        if (paths := programs()) is None:
            pytest.skip("PostgreSQL is not installed (Debian: postgresql)")
        place = Path(tempfile.mkdtemp(prefix="pg"))
        try:
            server = cls(place, paths)
            if user := _user():
                shutil.chown(place, user)
            place.chmod(0o755)
            server._run("initdb", "-D", "data", "-U", "owner", "-A", "trust", "-E", "UTF8",
                        "--locale=C")
            if name is not None:
                server.settings = server.certified(name)
            server.start()
            try:
                yield server
            finally:
                server.process.send_signal(signal.SIGQUIT)  # nothing is kept
                server.process.wait(60)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _run(self, program, *args):
        subprocess.run([self.bin / program, *args], user=_user(), cwd=self.place, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        """Start, and wait until it answers."""
        until = time.monotonic() + 90
        while time.monotonic() < until:
            # What a killed server left may still be ending, and then a new one ends at once.
            if self.process is None or self.process.poll() is not None:
                self.process = subprocess.Popen(
                    [self.bin / "postgres", "-D", "data", "-k", self.place, "-c",
                     "max_connections=60", "-c", "shared_buffers=16MB", *self.settings],
                    user=_user(), cwd=self.place, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL)
            time.sleep(0.1)
            with suppress(psycopg.OperationalError), self.root():
                return
        raise AssertionError("the server did not start")

    def certified(self, name):
        """A key, a certificate of this name by an authority of its own, and a free port."""
        import datetime as dt

        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
        called = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = (x509.CertificateBuilder().subject_name(called).issuer_name(called)
                       .public_key(key.public_key()).serial_number(1)
                       .not_valid_before(now - dt.timedelta(1))
                       .not_valid_after(now + dt.timedelta(1))
                       .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]),
                                      critical=False)
                       .add_extension(x509.BasicConstraints(ca=True, path_length=None),
                                      critical=True)
                       .sign(key, hashes.SHA256()))
        (self.place / "root.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (self.place / "server.key").write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))
        (self.place / "server.key").chmod(0o600)
        if user := _user():
            shutil.chown(self.place / "server.key", user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        return ["-c", "listen_addresses=127.0.0.1", "-c", f"port={self.port}", "-c", "ssl=on", "-c",
                f"ssl_cert_file={self.place}/root.crt", "-c",
                f"ssl_key_file={self.place}/server.key"]

    def environment(self):
        """By what a client finds a server with a name, and knows who vouches for it."""
        return {"PGHOSTADDR": "127.0.0.1", "PGPORT": str(self.port),
                "PGSSLROOTCERT": str(self.place / "root.crt")}

    def kill(self):
        """The server and all that works for it, without a word."""
        self.process.send_signal(signal.SIGSTOP)  # no new ones
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for pid in (self.process.pid, *map(int, children.split())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def url(self, database, user="owner"):
        """The URL of a database."""
        return f"postgresql://{user}@/{database}?host={self.place}&port={self.port}"

    def root(self, database="postgres"):
        """A connection of the superuser."""
        return psycopg.connect(self.url(database), autocommit=True)

    def database(self):
        """A database without a ledger; its name."""
        with self.root() as db, suppress(psycopg.errors.DuplicateDatabase):
            db.execute("CREATE DATABASE budgets")
        with self.root("budgets") as db:
            db.execute("ALTER DATABASE budgets RESET ALL")
            db.execute("DROP SCHEMA IF EXISTS privsieve CASCADE")
        return "budgets"
