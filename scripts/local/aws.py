"""Runs ministack, the stand-in for AWS, with these differences:

Sequence numbers. ministack numbers the records of all shards of all streams with one counter. Kinesis'
sequence numbers are "specific to a shard": the numbers of two shards do not show which record is older. Here
each shard has its own range of numbers, with the fields of Kinesis' numbers. The order of the ranges is
random, and the same for the same SEED. Only the range of a child is always above those of its parents,
since numbers "for the same partition key generally increase over time".
See https://docs.aws.amazon.com/streams/latest/dev/key-concepts.html

Closed shards. When a shard is split or merged, ministack removes the shard and its records. Kinesis closes
the shard: the shard takes no more records, its description has its last sequence number, and consumers read
it to its end before they read its children.
See https://docs.aws.amazon.com/streams/latest/dev/kinesis-using-sdk-java-after-resharding.html

Browsers. ministack accepts any credentials, and answers requests from web pages of every origin. Here every
request that a browser sends for a web page is rejected.

Speed. At each call that puts or gets records, ministack looks for expired records among all records of a
stream, and for expired ones among the shard iterators of the last five minutes. Here it looks only at each
shard's first record, which is the oldest, and at the iterators only once a second. Before each call,
ministack asks its services one by one whether the call is theirs. Here calls of DynamoDB and Kinesis go
directly to these services (call_services_directly). uvicorn with httptools serves HTTP in place of Hypercorn,
and key_conditions.py evaluates queries.

Contract. ministack accepts calls that AWS would refuse, from any role. Here each call is checked against the
service's model, the service's limits, and the policies of the function that makes the call (contract.py). The
session token of a call is the function's name.

Freedoms. ministack never fails in ways in which AWS may fail. With FREEDOMS=on, it throttles calls, fails,
loses responses and returns only parts of responses (freedoms.py).
"""

import json
import os
import random
import re
import resource
import signal
import socket
import sys
import threading
import time
import uuid

# Bind the port before the imports below, which take a second: until then, another process may take it.
listener = socket.create_server((os.environ["BIND_HOST"], int(os.environ["GATEWAY_PORT"])))
# asyncio sets this option only on sockets that it makes itself. Without it, each response waits 40 ms for an
# acknowledgement of its headers.
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

import key_conditions
import uvicorn
from contract import answer_lambda_calls, check_contract
from forward import forward_calls
from freedoms import use_freedoms
from ministack import app as ministack
from ministack.core.responses import set_request_account_id, set_request_region
from ministack.core.router import extract_access_key_id, extract_region
from ministack.services import dynamodb, kinesis
from rights import Rights

CLOSED = "ending_sequence_number"

SEED = int(os.environ.get("SEED") or random.SystemRandom().randrange(2**32))
shard_order = random.Random(SEED)
# Key of a shard's range: the upper bits of its sequence numbers. In Kinesis' numbers, they are the second in
# which the shard was created.
RANGE = "sequence_range"
LAST = "last_sequence"
RANGE_SPREAD = 2**24


def assign_range(shards, shard_id):
    """Gives a shard its range of sequence numbers, above the ranges of its parents."""
    shard = shards[shard_id]
    parents = [shards[shard[of]] for of in ("parent_shard_id", "adjacent_parent_shard_id") if shard.get(of) in shards]
    above = [parent[RANGE] for parent in parents if RANGE in parent]
    first = max(above) + 1 if above else int(time.time()) - RANGE_SPREAD
    shard[RANGE] = first + shard_order.randrange(RANGE_SPREAD)
    shard[LAST] = 0


def next_sequence_number(shards, shard_id):
    """Returns the next sequence number of a shard: 56 digits, made of the shard's range, the count of its
    records, the second, and its index."""
    shard = shards[shard_id]
    # A new shard has no range yet.
    if RANGE not in shard:
        assign_range(shards, shard_id)
    shard[LAST] += 1
    index = int(shard_id.rsplit("-", 1)[1])
    fields = (2, 4), (shard[RANGE], 36), (index & 15, 4), (shard[LAST], 64), (int(time.time()), 44), (index, 32), (2, 4)
    number = 0
    for value, bits in fields:
        number = (number << bits) | value
    return str(number)


def number_by_shard(route, next_number):
    """Gives each shard its own sequence numbers. ministack asks for a record's shard, and then, in the same
    thread, for the record's number."""
    routed = threading.local()

    def route_call(hash_key, stream):
        shard_id = route(hash_key, stream)
        routed.place = (stream["shards"], shard_id)
        return shard_id

    def number_call():
        place = routed.__dict__.pop("place", None)
        return next_number() if place is None else next_sequence_number(*place)

    return route_call, number_call


def add_starting_numbers(build):
    """Wraps the creation of shards so that each one starts at a number of its own range."""
    def call(*args, **kwargs):
        shards = build(*args, **kwargs)
        for shard_id, shard in shards.items():
            shard["starting_sequence_number"] = next_sequence_number(shards, shard_id)
        return shards

    return call


def keep_closed_shards(reshard):
    """Wraps a split or merge so that the closed shards stay and cannot be split or merged again."""
    def call(data):
        _, stream = kinesis._resolve_stream(data)
        before = dict(stream["shards"]) if stream else {}
        for name in ("ShardToSplit", "ShardToMerge", "AdjacentShardToMerge"):
            if CLOSED in before.get(data.get(name), {}):
                return kinesis.error_response_json("InvalidArgumentException", f"{data[name]} is closed", 400)
        response = reshard(data)
        if stream:
            for shard_id, shard in before.items():
                if shard_id not in stream["shards"]:
                    stream["shards"][shard_id] = shard
                    shard[CLOSED] = next_sequence_number(stream["shards"], shard_id)
            for shard_id in sorted(stream["shards"].keys() - before.keys()):
                first = next_sequence_number(stream["shards"], shard_id)
                stream["shards"][shard_id]["starting_sequence_number"] = first
        return response

    return call


def route_to_open_shards(route):
    """Wraps the choice of a record's shard so that it never is a closed one."""
    def call(hash_key, stream):
        is_open = {i: shard for i, shard in stream["shards"].items() if CLOSED not in shard}
        return route(hash_key, {**stream, "shards": is_open})

    return call


def add_ending_number(describe):
    """Wraps a shard's description so that it has the last sequence number of a closed shard."""
    def call(shard_id, shard):
        described = describe(shard_id, shard)
        if CLOSED in shard:
            described["SequenceNumberRange"]["EndingSequenceNumber"] = shard[CLOSED]
        return described

    return call


def end_iterators(get_records):
    """Wraps GetRecords so that it returns no further iterator at the end of a closed shard."""
    def call(data):
        at = kinesis._shard_iterators.get(data.get("ShardIterator"))
        shard = at and kinesis._streams.get(at["stream"], {}).get("shards", {}).get(at["shard_id"])
        response = get_records(data)
        if not shard or CLOSED not in shard or response[0] != 200:
            return response
        output = json.loads(response[2])
        if at["position"] + len(output["Records"]) >= len(shard["records"]):
            del output["NextShardIterator"]
        return kinesis.json_response(output)

    return call


def shard_of(iterator):
    """Returns the stream and the shard that an iterator reads."""
    at = kinesis._shard_iterators.get(iterator) or {}
    return at.get("stream"), at.get("shard_id")


def expire_records(stream):
    """Removes records that are older than the stream's retention."""
    cutoff = time.time() - stream["RetentionPeriodHours"] * 3600
    for shard in stream["shards"].values():
        records = shard["records"]
        if records and records[0]["ApproximateArrivalTimestamp"] < cutoff:
            shard["records"] = [r for r in records if r["ApproximateArrivalTimestamp"] >= cutoff]


def throttle_expiry(expire):
    """Wraps the removal of expired iterators so that it runs at most once a second."""
    last = 0.0

    def call():
        nonlocal last
        now = time.monotonic()
        if now - last >= 1:
            last = now
            expire()

    return call


LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}


def refuse_web_pages(app):
    """Wraps an app so that it gets no requests from web pages."""
    async def call(scope, receive, send):
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", [])}
        # With DNS rebinding, the host name of a web page resolves to this machine. The page's requests then
        # have that name in `Host`.
        host = re.sub(r":\d+$", "", headers.get("host", "")).lower()
        if scope["type"] == "lifespan" or ("origin" not in headers and host in LOOPBACK):
            return await app(scope, receive, send)
        await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"web pages have no access"})

    return call


DIRECT = {"dynamodb": dynamodb, "kinesis": kinesis}


def call_services_directly(app):
    """Wraps an app so that calls of DynamoDB and Kinesis go directly to these services."""
    async def call_app(scope, receive, send):
        call = scope.get("aws_call")
        service = call and DIRECT.get(call.service)
        if not service:
            return await app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        set_request_account_id(extract_access_key_id(headers))
        set_request_region(extract_region(headers))
        status, answered, body = await service.handle_request(scope["method"], scope["path"], headers, call.body, {})
        body = body if isinstance(body, bytes) else body.encode()
        answered = {**answered, "x-amzn-requestid": str(uuid.uuid4()), "content-length": str(len(body))}
        fields = [(name.encode("latin-1"), str(value).encode("latin-1")) for name, value in answered.items()]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})

    return call_app


key_conditions.install()
rights = Rights(os.environ["RIGHTS_FILE"]) if "RIGHTS_FILE" in os.environ else None
ministack.app = refuse_web_pages(check_contract(use_freedoms(answer_lambda_calls(forward_calls(call_services_directly(ministack.app))), SEED), rights, shard_of))
kinesis._split_shard = keep_closed_shards(kinesis._split_shard)
kinesis._merge_shards = keep_closed_shards(kinesis._merge_shards)
kinesis._build_shards = add_starting_numbers(kinesis._build_shards)
kinesis._route_to_shard, kinesis._next_sequence_number = number_by_shard(
    route_to_open_shards(kinesis._route_to_shard), kinesis._next_sequence_number
)
kinesis._shard_out = add_ending_number(kinesis._shard_out)
kinesis._expire_records = expire_records
kinesis._expire_iterators = throttle_expiry(kinesis._expire_iterators)
kinesis._get_records = end_iterators(kinesis._get_records)


if __name__ == "__main__":
    print(f"shards of streams have ranges of sequence numbers in the random order of SEED={SEED}", flush=True)
    # uvicorn raises the signal again once it has shut down. Exit in an orderly way then, so that the exit
    # handlers of contract.py and freedoms.py write their counts.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    config = uvicorn.Config(
        ministack.app,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=5,
        log_level="warning",
        access_log=False,
    )
    uvicorn.Server(config).run(sockets=[listener])
