"""Serves HTTP/1.1 connections in place of Hypercorn's own code, which took more time for a call than the call itself.

Hypercorn still serves the rest of a connection from a request on that is more than a head and a body of known length: HTTP/2, an upgrade,
chunks.
"""

import asyncio
import logging
from http import HTTPStatus
from urllib.parse import unquote

from hypercorn.asyncio import run
from hypercorn.asyncio.tcp_server import TCPServer

END_OF_HEAD = b"\r\n\r\n"
# Headers with which Hypercorn serves a connection.
FRAMING = {b"transfer-encoding", b"upgrade"}


def install():
    run.TCPServer = serve


async def serve(app, loop, config, context, state, reader, writer):
    """Serves a connection. The parameters are those of Hypercorn's TCPServer."""
    is_idle = False

    def end_idle(_):
        if is_idle:
            writer.close()

    ending = asyncio.ensure_future(context.terminated.wait())
    ending.add_done_callback(end_idle)
    server, client = (writer.get_extra_info(name)[:2] for name in ("sockname", "peername"))
    try:
        while not context.terminated.is_set():
            is_idle = True
            try:
                head = await reader.readuntil(END_OF_HEAD)
            except asyncio.LimitOverrunError:
                head = b""
            is_idle = False
            request = request_of(head)
            if request is None:
                return await TCPServer(app, loop, config, context, state, Unread(head, reader), writer)
            length, scope = request
            if (b"expect", b"100-continue") in scope["headers"]:
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = await reader.readexactly(length) if length > 0 else b""
            scope.update(server=server, client=client)
            if not await answered(app.app, scope, body, ending, writer):
                return None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    finally:
        ending.cancel()
        writer.close()


class Unread:
    """The bytes that are left of a connection, with those of a request's head put back."""

    def __init__(self, head, reader):
        self.head = head
        self.reader = reader

    def at_eof(self):
        return not self.head and self.reader.at_eof()

    async def read(self, most):
        if not self.head:
            return await self.reader.read(most)
        head, self.head = self.head, b""
        return head


def request_of(head):
    """Returns the length of a request's body, and its ASGI scope; None if Hypercorn has to serve the request."""
    line, *fields = head[: -len(END_OF_HEAD)].split(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3 or words[2] != b"HTTP/1.1":
        return None
    headers = []
    length = 0
    for field in fields:
        name, colon, value = field.partition(b":")
        name, value = name.lower(), value.strip()
        if not colon or name in FRAMING or name != name.strip():
            return None
        if name == b"content-length":
            if not value.isdigit() or length:
                return None
            length = int(value)
        headers.append((name, value))
    path, _, query = words[1].partition(b"?")
    return length, {
        "type": "http",
        "asgi": {"spec_version": "2.1", "version": "3.0"},
        "http_version": "1.1",
        "method": words[0].decode("latin-1"),
        "scheme": "http",
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "extensions": {},
    }


async def answered(app, scope, body, ending, writer):
    """Has the app answer a request. Returns whether the connection can be used for another."""
    is_read = is_complete = False
    # The answer's head, until it is sent with the first part of the body.
    head = None
    is_kept = (b"connection", b"close") not in scope["headers"]
    has_body = scope["method"] != "HEAD"

    async def receive():
        nonlocal is_read
        if not is_read:
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}
        await asyncio.wait([ending])
        return {"type": "http.disconnect"}

    async def send(message):
        nonlocal head, is_complete, is_kept, has_body
        if message["type"] == "http.response.start":
            status = message["status"]
            headers = list(message.get("headers", []))
            has_body = has_body and status not in (204, 304)
            if has_body and not any(name.lower() == b"content-length" for name, _ in headers):
                is_kept = False
                headers.append((b"connection", b"close"))
            fields = b"".join(b"%b: %b\r\n" % field for field in headers)
            head = b"HTTP/1.1 %d %b\r\n%b\r\n" % (status, HTTPStatus(status).phrase.encode(), fields)
        else:
            writer.write(head + (message.get("body", b"") if has_body else b""))
            head = b""
            is_complete = not message.get("more_body")
            await writer.drain()

    try:
        await app(scope, receive, send)
    except Exception:
        logging.getLogger("http1").exception("a request failed")
    if head is None:
        await send({"type": "http.response.start", "status": 500, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})
        is_kept = False
    return is_complete and is_kept
