"""Proxies on loopback that let requests through which only read; any other is refused, and kept."""

from __future__ import annotations

import http.client
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc

HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}
READS = re.compile(
    r"^(GET|HEAD) "
    r"|^POST [^?]*/(_search|_count|_msearch|_mget|_search/scroll)(\?|$)|^DELETE /_search/scroll"
    r"|^POST /api/v2/.*/collections/[^/]+/(query|get|count)(\?|$)"
    r"|^POST /v1/graphql"
)
READ_CALLS = re.compile(
    r"/weaviate\.v1\.Weaviate/(Search|Aggregate|TenantsGet)$|/grpc\.health\.v1\.Health/"
    r"|/milvus\.proto\.milvus\.MilvusService/(Connect|GetVersion|Has\w+|Describe\w+|Show\w+|List\w+|Get\w+|Search|Query)$"
)


class HttpReads:
    """An HTTP proxy in front of a port of this machine."""

    def __init__(self, port: int) -> None:
        self.refused: list[str] = []
        self.passed: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = f"{self.command} {self.path}"
                if not READS.match(asked):
                    outer.refused.append(asked)
                    self.send_error(403, "writes are refused")
                    return
                outer.passed.append(asked)
                line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                kept = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
                line.request(self.command, self.path, body or None, kept)
                answer = line.getresponse()
                data = answer.read()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in HOP:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data if self.command != "HEAD" else b"")
                line.close()

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = _forward  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class GrpcReads(grpc.GenericRpcHandler):
    """A proxy of unary calls in front of a gRPC port of this machine; messages pass as bytes."""

    def __init__(self, port: int) -> None:
        self.refused: list[str] = []
        self.passed: list[str] = []
        size = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=size)
        self._server = grpc.server(ThreadPoolExecutor(8), handlers=(self,), options=size)
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(
            lambda data, context: self._pass(details.method, data, context)
        )

    def _pass(self, method: str, data: bytes, context: grpc.ServicerContext) -> bytes:
        if not READ_CALLS.search(method):
            self.refused.append(method)
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "writes are refused")
        self.passed.append(method)
        kept = [
            pair for pair in context.invocation_metadata() if not pair.key.startswith(("grpc-", "user-agent"))
        ]
        try:
            answer: bytes = self._channel.unary_unary(method)(data, metadata=kept, timeout=60)
        except grpc.RpcError as exc:
            context.abort(exc.code(), exc.details())
        return answer

    def close(self) -> None:
        self._server.stop(None)
        self._channel.close()
