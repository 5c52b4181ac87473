"""Forwards calls of some services to other servers that stand in for them: DynamoDB Local, versitygw, kinesalite.

FORWARD_TO is JSON: service -> {"url", "keyId", "secret"}. Calls have been checked before (contract.py), so
these servers get only calls that AWS would accept. Each call is signed again, since each of the other servers
knows only one key.
"""

import asyncio
import json
import os

import urllib3
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "us-east-1"
# Headers that are not forwarded: headers that this server sets itself, and headers that concern only the
# caller's connection.
OWN_HEADERS = {
    "authorization",
    "connection",
    "content-length",
    "expect",
    "host",
    "transfer-encoding",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-security-token",
}
CONNECTION_HEADERS = {"connection", "keep-alive", "transfer-encoding", "content-length"}


def forward_calls(app):
    """Wraps an app so that the servers in FORWARD_TO get the calls of their services."""
    servers = json.loads(os.environ.get("FORWARD_TO") or "{}")
    if not servers:
        return app
    pool = urllib3.PoolManager(maxsize=64, retries=False, timeout=60)

    def ask(server, service, scope, body):
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        query = scope.get("query_string", b"").decode("latin-1")
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        kept = {name: value for name, value in headers.items() if name.lower() not in OWN_HEADERS}
        url = f"{server['url']}{path}{'?' + query if query else ''}"
        signed = AWSRequest(method=scope["method"], url=url, data=body, headers=kept)
        signer = S3SigV4Auth if service == "s3" else SigV4Auth
        signer(Credentials(server["keyId"], server["secret"]), service, REGION).add_auth(signed)
        return pool.request(
            scope["method"], url, body=body, headers=dict(signed.headers.items()), decode_content=False, redirect=False
        )

    async def call(scope, receive, send):
        aws_call = scope.get("aws_call")
        server = aws_call and servers.get(aws_call.service)
        if not server:
            return await app(scope, receive, send)
        response = await asyncio.to_thread(ask, server, aws_call.service, scope, aws_call.body)
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in response.headers.items()
            if name.lower() not in CONNECTION_HEADERS
        ]
        is_head = scope["method"] == "HEAD"
        length = response.headers.get("content-length") if is_head else str(len(response.data))
        if length is not None:
            headers.append((b"content-length", length.encode()))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if is_head else response.data})

    return call
