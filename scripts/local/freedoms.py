"""Behaves in ways that AWS's documents permit. ../faults/freedoms.json lists these freedoms, and where they are used.

With the variable FREEDOMS=on they are used, as a seed decides. Freedoms are used only in calls that functions
make, not in calls that tests make themselves.
"""

import asyncio
import atexit
import copy
import json
import os
import random
import re
import time
from collections import Counter
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from contract import refuse, replay_body
from ministack.services import dynamodb
from rights import S3_ACTIONS

FREEDOMS = {
    one["name"]: one
    for one in json.loads((Path(__file__).parent.parent / "faults" / "freedoms.json").read_text())
    if one["where"] == "stand-in"
}

THROTTLED = {
    "dynamodb": [(400, "ThrottlingException"), (400, "ProvisionedThroughputExceededException")],
    "kinesis": [(400, "ProvisionedThroughputExceededException")],
    "s3": [(503, "SlowDown")],
    "sns": [(400, "Throttled")],
    "lambda": [(429, "TooManyRequestsException")],
}
FAILED = {
    "dynamodb": (500, "InternalServerError"),
    "kinesis": (500, "InternalFailure"),
    "s3": (500, "InternalError"),
    "sns": (500, "InternalError"),
    "lambda": (500, "ServiceException"),
}
INJECTED = "used as a freedom of AWS"
OF_RECORDS = (
    ("ProvisionedThroughputExceededException", "Rate exceeded for shard"),
    ("InternalFailure", "Internal service failure."),
)
WRITES = re.compile(r"Put|Update|Delete|Write|Execute")
# Session token of a test that uses the adapters without a function. Bodies for it are not cut: a function's
# invocation would be retried, but nobody repeats the test's call.
ADAPTERS = "tiers"
CONDITIONS = {"IfMatch", "IfNoneMatch", "ConditionExpression", "TransactItems"}
READING = ContextVar("freedoms of the call that is served", default=None)


class Freedoms:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.bursts = {}
        self.used = Counter()
        self.changed = Changes()
        folder = os.environ.get("CONTRACT_DIR")
        if folder:
            atexit.register(self.write, folder)

    def write(self, folder):
        """Writes how often each freedom was used."""
        with open(os.path.join(folder, f"freedoms-{os.getpid()}.json"), "w") as out:
            json.dump(self.used, out)

    def takes(self, name, share="share"):
        """Draws whether a freedom is used now, and counts it if so."""
        if self.random.random() >= FREEDOMS[name][share]:
            return False
        self.used[name] += 1
        return True

    def is_throttled(self, service):
        """Draws whether a call is throttled. Throttling comes in bursts."""
        left = self.bursts.get(service, 0)
        if left > 0:
            self.bursts[service] = left - 1
            return True
        if not self.takes("throttled"):
            return False
        self.bursts[service] = self.random.randrange(FREEDOMS["throttled"]["most"])
        return True

    def draw_some(self, values):
        """Draws some of the values, at least one. Returns for each value whether it was drawn."""
        first = self.random.randrange(len(values))
        is_taken = [i == first or self.random.random() < 0.5 for i in range(len(values))]
        return is_taken


class Changes:
    """Keeps items as they were before their last change, for reads that are not consistent and so may not see
    the change yet."""

    MOST = 4096

    def __init__(self):
        self.images = {}

    def note(self, call):
        """Keeps the items that a call is about to change, as they are now."""
        for table, pk, sk in written_keys(call):
            if len(self.images) >= self.MOST:
                self.images.clear()
            before = (find_items(table) or {}).get(pk, {}).get(sk)
            self.images[table, pk, sk] = (time.monotonic(), copy.deepcopy(before))

    @contextmanager
    def put_back(self, is_wanted):
        """Undoes the most recent changes for the duration of one read. A change is recent for the `mostMs` of
        the freedom `stale read`."""
        moment = time.monotonic() - FREEDOMS["stale read"]["mostMs"] / 1000
        replaced = []
        for (name, pk, sk), (at, before) in list(self.images.items()):
            if at < moment or not is_wanted(name):
                continue
            items = find_items(name)
            if items is None or items.get(pk, {}).get(sk) == before:
                continue
            now = items.get(pk)
            if not any(one is items and key == pk for one, key, _ in replaced):
                replaced.append((items, pk, now))
            items[pk] = {**(now or {}), sk: before}
            if before is None:
                del items[pk][sk]
        try:
            yield
        finally:
            for items, pk, now in replaced:
                if now is None:
                    del items[pk]
                else:
                    items[pk] = now


def read_old_items(read):
    """Wraps a read of ministack's tables, so that a read without ConsistentRead may see items as they were
    before a recent change."""

    def call(data):
        freedoms = READING.get()
        if freedoms is None:
            return read(data)
        of_tables = data.get("RequestItems") or {data.get("TableName"): data}
        old = {name for name, one in of_tables.items() if not one.get("ConsistentRead")}
        with freedoms.changed.put_back(lambda name: name in old and freedoms.takes("stale read")):
            return read(data)

    return call


def attribute_value(attribute):
    """Returns an attribute's value without its type."""
    return next(iter(attribute.values())) if attribute else None


def find_items(table_name):
    """Returns the items of a table, by partition key and sort key; None if there is no such table."""
    for (_, _, name), table in dynamodb._tables.all_items():
        if name == table_name:
            return table["items"]
    return None


def written_keys(call):
    """Yields the table, partition key and sort key of each item that a call writes."""
    given = call.input
    if call.operation in ("PutItem", "UpdateItem", "DeleteItem"):
        parts = [given]
    elif call.operation == "TransactWriteItems":
        parts = [next(iter(one.values())) for one in given["TransactItems"]]
    elif call.operation == "BatchWriteItem":
        parts = [{"TableName": t, **next(iter(one.values()))} for t, all in given["RequestItems"].items() for one in all]
    else:
        parts = []
    for part in parts:
        key = part.get("Key") or part.get("Item") or {}
        yield part.get("TableName"), attribute_value(key.get("pk")), attribute_value(key.get("sk"))


def use_freedoms(app, seed):
    """Wraps an app so that functions' calls are subject to the freedoms; without FREEDOMS=on, returns the app."""
    if os.environ.get("FREEDOMS") != "on":
        return app
    for name in ("_get_item", "_query", "_scan", "_batch_get_item"):
        setattr(dynamodb, name, read_old_items(getattr(dynamodb, name)))
    freedoms = Freedoms(seed)

    async def call_app(scope, receive, send):
        call = scope.get("aws_call")
        if call is None or call.function is None:
            return await app(scope, receive, send)
        if freedoms.takes("slow"):
            await asyncio.sleep(freedoms.random.random() * FREEDOMS["slow"]["mostMs"] / 1000)
        if freedoms.is_throttled(call.service):
            return await refuse(send, call.service, *freedoms.random.choice(THROTTLED[call.service]), INJECTED)
        if freedoms.takes("failed inside"):
            return await refuse(send, call.service, *FAILED[call.service], INJECTED)
        if call.operation == "GetRecords" and freedoms.takes("iterator expired"):
            return await refuse(send, "kinesis", 400, "ExpiredIteratorException", INJECTED)
        is_conditional = call.operation != "GetObject" and not CONDITIONS.isdisjoint(call.input)
        if is_conditional and call.service == "s3" and freedoms.takes("conflict of conditions"):
            return await refuse(send, "s3", 409, "ConditionalRequestConflict", INJECTED)

        change = shrink_call(freedoms, call, scope)
        if call.service == "dynamodb" and WRITES.search(call.operation):
            freedoms.changed.note(call)
        reading = READING.set(freedoms)
        try:
            response = await capture_response(app, scope, receive, call.body)
        finally:
            READING.reset(reading)
        if response is None:
            return None
        status, headers, body = response
        if status == 200 and change is not None:
            body = change(body)
        # Never lose the response to a call to Lambda: the local host of functions waits for it before it
        # carries out the call.
        share = "conditionalShare" if is_conditional else "share"
        is_lost = status < 300 and call.service != "lambda" and freedoms.takes("response lost", share)
        if is_lost and freedoms.random.random() < 0.5:
            return await refuse(send, call.service, *FAILED[call.service], INJECTED)
        has_body = call.operation == "GetObject" and len(body) > 1
        is_final = has_body and call.function == ADAPTERS
        is_cut = not is_final and (is_lost or (has_body and freedoms.takes("body cut")))
        length = [(b"content-length", str(len(body)).encode())]
        if scope["method"] == "HEAD":
            length = [(name, value) for name, value in headers if name.lower() == b"content-length"]
        kept = [(name, value) for name, value in headers if name.lower() not in (b"content-length", b"x-amz-crc32")]
        await send({"type": "http.response.start", "status": status, "headers": kept + length})
        if is_cut and len(body) > 1:
            await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
            # Raise an error, so that the server cuts the connection of the incomplete response.
            raise ConnectionAbortedError("a response is cut, as a freedom of AWS")
        await send({"type": "http.response.body", "body": body})

    return call_app


async def capture_response(app, scope, receive, body):
    """Returns the app's response as (status, headers, body); None if it gave none."""
    start, parts = None, []

    async def keep(message):
        nonlocal start
        if message["type"] == "http.response.start":
            start = message
        else:
            parts.append(message.get("body", b""))

    await app(scope, replay_body(body, receive), keep)
    return start and (start["status"], start["headers"], b"".join(parts))


def shrink_call(freedoms, call, scope):
    """Makes some calls smaller before the stand-in gets them.

    Returns a function that adds the rest of the call to the response, such as records that are rejected; None
    if nothing is to be added.
    """
    given = call.input
    if call.operation == "PutRecords" and len(given["Records"]) > 1 and freedoms.takes("records refused"):
        return refuse_records(freedoms, call)
    if call.operation == "GetRecords" and freedoms.takes("records held back"):
        set_input(call, {**given, "Limit": freedoms.random.randint(1, 3)})
    elif call.operation in ("Query", "Scan") and freedoms.takes("query ends early"):
        set_input(call, {**given, "Limit": min(given.get("Limit", 10**6), freedoms.random.randint(1, 4))})
    elif call.operation == "BatchGetItem" and freedoms.takes("keys unprocessed"):
        return leave_unprocessed(freedoms, call, "UnprocessedKeys", lambda one: one["Keys"], lambda one, keys: {**one, "Keys": keys})
    elif call.operation == "BatchWriteItem" and freedoms.takes("items unprocessed"):
        return leave_unprocessed(freedoms, call, "UnprocessedItems", lambda one: one, lambda _, requests: requests)
    elif S3_ACTIONS.get(call.operation, "").startswith("ListBucket") and freedoms.takes("short page of a list"):
        query = re.sub(rb"&?max-keys=\d+", b"", scope.get("query_string", b""))
        scope["query_string"] = query + b"&max-keys=%d" % freedoms.random.randint(1, 3)
    return None


def set_input(call, given):
    """Replaces a call's input."""
    call.input = given
    call.body = json.dumps(given).encode()


def refuse_records(freedoms, call):
    """Removes some records from a PutRecords call; the returned function adds their errors to the response."""
    records = call.input["Records"]
    is_taken = freedoms.draw_some(records)
    set_input(call, {**call.input, "Records": [one for one, taken in zip(records, is_taken) if taken]})
    code, message = freedoms.random.choice(OF_RECORDS)

    def whole(body):
        response = json.loads(body)
        taken = iter(response["Records"])
        response["Records"] = [next(taken) if is_one else {"ErrorCode": code, "ErrorMessage": message} for is_one in is_taken]
        response["FailedRecordCount"] = response.get("FailedRecordCount", 0) + is_taken.count(False)
        return json.dumps(response).encode()

    return whole


def leave_unprocessed(freedoms, call, member, values_of, with_values):
    """Removes some parts of a batch; the returned function adds them to the response as unprocessed."""
    asked = call.input["RequestItems"]
    flat = [(table, i) for table, one in asked.items() for i in range(len(values_of(one)))]
    taken = {place for place, is_one in zip(flat, freedoms.draw_some(flat)) if is_one}

    def part(is_wanted):
        chosen = {
            table: with_values(one, [value for i, value in enumerate(values_of(one)) if ((table, i) in taken) == is_wanted])
            for table, one in asked.items()
        }
        return {table: one for table, one in chosen.items() if values_of(one)}

    left = part(False)
    set_input(call, {**call.input, "RequestItems": part(True)})

    def whole(body):
        response = json.loads(body)
        response[member] = {**response.get(member, {}), **left}
        return json.dumps(response).encode()

    return whole

