"""Parses the address of a daemon."""

from __future__ import annotations

from .errors import EdgekilnError, usage

VARIABLE = "EDGEKILN_SERVER"


def grpc_target(address: str, source: str) -> str:
    """The address of a daemon as a gRPC target: HOST:PORT, [IPV6]:PORT,
    unix:/PATH, or /PATH of a socket. `source` is named in errors."""
    if address.startswith("/"):
        return f"unix:{address}"
    if address.startswith("unix:/"):
        return address
    if "://" in address:
        raise _bad(address, source, "expected HOST:PORT or unix:/PATH, got a URL")
    if any(char in " \t\n/%" for char in address):
        raise _bad(address, source, "the address holds a space, '/' or '%'")
    host, colon, port = address.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit():
        raise _bad(address, source, "the address has no port")
    if not 1 <= int(port) <= 65535:
        raise _bad(address, source, "the port is not in 1..65535")
    bracketed = host.startswith("[") and host.endswith("]")
    if not host or (":" in host and not bracketed):
        raise _bad(address, source, "the host is missing or ambiguous")
    return f"dns:///{address}"


def _bad(address: str, source: str, what: str) -> EdgekilnError:
    return usage(what, f"{source}{address}",
                 "HOST:PORT, [IPV6]:PORT, unix:/PATH or /PATH of a socket",
                 f"for example {source}localhost:7433")
