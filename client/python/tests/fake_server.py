"""A gRPC server with scripted answers, and a proxy that cuts connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc

from edgekiln._proto.edgekiln.v1 import error_pb2
from edgekiln._proto.google.rpc import error_details_pb2, status_pb2

Answer = Callable[[Any, grpc.ServicerContext], Any]


class FakeServer:
    """`answers` by method of edgekiln._rpc; streams of responses are generators."""

    def __init__(self, path: str, answers: dict[Any, Answer], request_types: dict[Any, Any],
                 streams: tuple[Any, ...] = ()) -> None:
        self.address = f"unix:{path}"
        self._server = grpc.server(futures.ThreadPoolExecutor(8))
        for method, answer in answers.items():
            service, name = method.name.split("/")
            make = (grpc.unary_stream_rpc_method_handler if method in streams
                    else grpc.unary_unary_rpc_method_handler)
            handler = make(answer, request_deserializer=request_types[method].FromString,
                           response_serializer=method.response.SerializeToString)
            self._server.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(service, {name: handler}),))
        self._server.add_insecure_port(self.address)
        self._server.start()

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None)


def abort(context: grpc.ServicerContext, code: grpc.StatusCode,
          detail: error_pb2.ErrorDetail, retry_after: float | None = None) -> None:
    """Ends a call as edgekilnd does."""
    status = status_pb2.Status(code=code.value[0], message=detail.message)
    status.details.add().Pack(detail)
    if retry_after is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(int(retry_after * 1000))
        status.details.add().Pack(retry)
    context.set_trailing_metadata((("grpc-status-details-bin",
                                    status.SerializeToString()),))
    context.abort(code, detail.message)


class CuttingProxy:
    """Forwards connections from `path` to a Unix socket. The n-th connection is cut
    after the client sent cuts[n] bytes; later connections are not cut."""

    def __init__(self, path: str, behind: str, cuts: list[int]) -> None:
        self.address = f"unix:{path}"
        self.sent = 0  # Bytes from clients, over all connections.
        self.connections = 0
        self._behind = behind.removeprefix("unix:")
        self._cuts = cuts
        self._ends: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def cut(self) -> None:
        """Cuts all connections."""
        for end in self._ends:
            _shut(end)
        self._ends.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            limit = self._cuts.pop(0) if self._cuts else None
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._behind)
            self._ends += [client, server]
            for pump in ((client, server, limit, True), (server, client, None, False)):
                threading.Thread(target=self._pump, args=pump, daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket, limit: int | None,
              counts: bool) -> None:
        passed = 0
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
                passed += len(data)
                self.sent += len(data) if counts else 0
                if limit is not None and passed >= limit:
                    break
        except OSError:
            pass
        _shut(one)
        _shut(other)


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass

