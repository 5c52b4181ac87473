"""Checks calls against the limits in aws-limits.json. AWS documents these limits, but its service models do
not contain them."""

import json
import re
import time
from collections import defaultdict, deque
from decimal import Decimal
from pathlib import Path

from service_models import blob_bytes

LIMITS = {limit["name"]: limit for limit in json.loads((Path(__file__).parent / "aws-limits.json").read_text())}


class Broken(list):
    """The limits that a call breaks: the name of each, with a sentence for the error."""

    def check(self, name, count):
        """Adds a limit to the list if the count exceeds it."""
        limit = LIMITS[name]
        if not limit.get("least", count) <= count <= limit["most"]:
            self.append((name, f"{count} {limit['of']}; AWS allows {limit.get('least', 0)} to {limit['most']}"))


def broken_limits(call, shard_of):
    """Returns the limits that a call breaks.

    @param shard_of returns the stream and the shard that an iterator reads
    """
    broken = Broken()
    given = call.input
    if call.service == "dynamodb":
        check_dynamodb(call, given, broken)
    elif call.service == "kinesis":
        check_kinesis(call, given, broken, shard_of)
    elif call.service == "s3":
        check_s3(call, given, broken)
    elif call.service == "sns" and call.operation == "Publish":
        check_publish(given, broken)
    elif call.operation == "Invoke":
        is_event = given.get("InvocationType") == "Event"
        broken.check("lambda.eventBytes" if is_event else "lambda.payloadBytes", len(call.body))
    return broken


EXPRESSIONS = (
    "KeyConditionExpression",
    "FilterExpression",
    "ConditionExpression",
    "UpdateExpression",
    "ProjectionExpression",
)
OPERATOR = re.compile(
    r"<>|<=|>=|[=<>+]|(?<!\w)-|\b(?:AND|OR|NOT|BETWEEN|IN)\b|\b(?:attribute_\w+|begins_with|contains|size|if_not_exists|list_append)\s*\(",
    re.IGNORECASE,
)
PLACEHOLDER = re.compile(r"[#:][\w]+")


def check_dynamodb(call, given, broken):
    """Checks a call to DynamoDB."""
    operation = call.operation
    if operation in ("PutItem", "GetItem", "UpdateItem", "DeleteItem", "Query", "Scan"):
        check_action(given, broken)
    elif operation == "BatchGetItem":
        asked = given.get("RequestItems", {})
        for one in asked.values():
            check_expressions(one, broken)
            for key in one.get("Keys", []):
                check_keys(key, broken)
        broken.check("dynamodb.batchGetKeys", sum(len(one.get("Keys", [])) for one in asked.values()))
        check_repeated([(table, key_of(key)) for table, one in asked.items() for key in one.get("Keys", [])], broken)
    elif operation == "BatchWriteItem":
        asked = [(table, request) for table, all in given.get("RequestItems", {}).items() for request in all]
        broken.check("dynamodb.batchWriteRequests", len(asked))
        broken.check("dynamodb.batchWriteBytes", len(call.body))
        parts = [(table, next(iter(request.values()), {})) for table, request in asked]
        for _, part in parts:
            check_action(part, broken)
        check_repeated([(table, key_of(part)) for table, part in parts], broken)
    elif operation in ("TransactWriteItems", "TransactGetItems"):
        parts = [next(iter(item.values()), {}) for item in given.get("TransactItems", [])]
        for part in parts:
            check_action(part, broken)
        broken.check(
            "dynamodb.transactionBytes",
            sum(item_bytes({**part.get("Item", part.get("Key", {})), **part.get("ExpressionAttributeValues", {})}) for part in parts),
        )
        check_repeated([(part.get("TableName"), key_of(part)) for part in parts], broken)
    elif operation == "BatchExecuteStatement":
        statements = given.get("Statements", [])
        reads = sum(one.get("Statement", "").lstrip().upper().startswith("SELECT") for one in statements)
        broken.check("dynamodb.statementsOfTwoKinds", int(0 < reads < len(statements)))
        for one in statements:
            # All attributes of the item are parameters, its keys included. Only their names are in the
            # statement; they are left out, since they add only a few bytes.
            values = {str(i): value for i, value in enumerate(one.get("Parameters", []))}
            broken.check("dynamodb.itemBytes", item_bytes(values))
            check_attributes(values, broken)


def check_action(given, broken):
    """Checks a request for one item or one query."""
    check_expressions(given, broken)
    if "Item" in given:
        item = given["Item"]
        broken.check("dynamodb.itemBytes", item_bytes(item))
        check_keys(item, broken)
        check_attributes(item, broken)
        if "N" in item.get("expiresAt", {}):
            broken.check("dynamodb.ttlSeconds", float(item["expiresAt"]["N"]))
    if "Key" in given:
        check_keys(given["Key"], broken)


def check_keys(item, broken):
    """Checks the sizes of an item's keys."""
    for name, limit in (("pk", "dynamodb.partitionKeyBytes"), ("sk", "dynamodb.sortKeyBytes")):
        for kind, value in item.get(name, {}).items():
            broken.check(limit, blob_bytes(value) if kind == "B" else len(str(value).encode()))


def check_attributes(item, broken, depth=0):
    """Checks the depth of nested attributes and the digits of numbers."""
    broken.check("dynamodb.depth", depth)
    for value in item.values() if isinstance(item, dict) else item:
        for kind, inner in value.items():
            if kind in ("M", "L"):
                check_attributes(inner, broken, depth + 1)
            elif kind == "N":
                broken.check("dynamodb.numberDigits", len(Decimal(inner).normalize().as_tuple().digits))


def check_expressions(given, broken):
    """Checks a request's expressions and their placeholders."""
    values = given.get("ExpressionAttributeValues", {})
    names = given.get("ExpressionAttributeNames", {})
    texts = [given[name] for name in EXPRESSIONS if name in given]
    for text in texts:
        broken.check("dynamodb.expressionBytes", len(text.encode()))
        broken.check("dynamodb.expressionOperators", len(OPERATOR.findall(text)))
        for operands in re.findall(r"\bIN\s*\(([^)]*)\)", text, re.IGNORECASE):
            broken.check("dynamodb.inOperands", operands.count(",") + 1)
    if not values and not names:
        return
    check_attributes(values, broken)
    for placeholder in [*values, *names]:
        broken.check("dynamodb.placeholderBytes", len(placeholder.encode()))
    broken.check("dynamodb.placeholdersBytes", item_bytes(values) + sum(len(k) + len(v) for k, v in names.items()))
    used = {placeholder for text in texts for placeholder in PLACEHOLDER.findall(text)}
    broken.check("dynamodb.unusedPlaceholders", len({*values, *names} - used))


def check_repeated(keys, broken):
    """Checks that no key of a batch occurs twice."""
    broken.check("dynamodb.repeatedKeys", len(keys) - len(set(keys)))


def key_of(part):
    """Returns a key as text, given a key, an item, or a request that contains either."""
    item = part.get("Key") or part.get("Item") or part
    return json.dumps([item.get("pk"), item.get("sk")])


def item_bytes(item):
    """Returns the size of an item, in bytes.

    @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
    """
    return sum(len(name.encode()) + value_bytes(value) for name, value in item.items())


def value_bytes(value):
    """Returns the size of an attribute's value, in bytes."""
    kind, inner = next(iter(value.items()))
    if kind == "S":
        return len(inner.encode())
    if kind == "B":
        return blob_bytes(inner)
    if kind == "N":
        return len(inner.strip("-").replace(".", "")) // 2 + 2
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + value_bytes(one) for name, one in inner.items())
    if kind == "L":
        return 3 + sum(1 + value_bytes(one) for one in inner)
    if kind in ("SS", "NS", "BS"):
        return sum(value_bytes({kind[0]: one}) for one in inner)
    return 1


reads_of_shards = defaultdict(deque)


def check_kinesis(call, given, broken, shard_of):
    """Checks a call to Kinesis."""
    if call.operation == "PutRecords":
        sizes = [len(r.get("PartitionKey", "").encode()) + blob_bytes(r.get("Data", "")) for r in given.get("Records", [])]
        if sizes:
            broken.check("kinesis.recordBytes", max(sizes))
        broken.check("kinesis.requestBytes", sum(sizes))
    elif call.operation == "GetRecords" and call.function is None:
        now = time.monotonic()
        reads = reads_of_shards[shard_of(given.get("ShardIterator"))]
        reads.append(now)
        while now - reads[0] >= 1:
            reads.popleft()
        broken.check("kinesis.readsPerShardSecond", len(reads))


# Sizes of the parts of uploads in bytes, by upload id and part number.
parts_of_uploads = defaultdict(dict)


def check_s3(call, given, broken):
    """Checks a call to S3."""
    if "Key" in given:
        broken.check("s3.keyBytes", len(given["Key"].encode()))
    if call.operation == "PutObject":
        broken.check("s3.putBytes", len(call.body))
        broken.check("s3.metadataBytes", sum(len(k) + len(v) for k, v in given.get("Metadata", {}).items()))
    if call.operation in ("PutObject", "CompleteMultipartUpload"):
        broken.check("s3.putIfNoneMatch", int(given.get("IfNoneMatch", "*") != "*"))
    if call.operation == "GetObject":
        broken.check("s3.ranges", given.get("Range", "").count(",") + 1)
    elif call.operation == "UploadPart":
        broken.check("s3.partNumber", given["PartNumber"])
        parts_of_uploads[given["UploadId"]][given["PartNumber"]] = len(call.body)
    elif call.operation == "AbortMultipartUpload":
        parts_of_uploads.pop(given["UploadId"], None)
    elif call.operation == "CompleteMultipartUpload":
        numbers = [part.get("PartNumber") for part in given.get("MultipartUpload", {}).get("Parts", [])]
        broken.check("s3.partsInOrder", sum(a >= b for a, b in zip(numbers, numbers[1:])))
        # Keep the sizes: if the response is lost, the call is repeated.
        sizes = parts_of_uploads.get(given["UploadId"], {})
        for number in numbers[:-1]:
            if number in sizes:
                broken.check("s3.partBytes", sizes[number])


def check_publish(given, broken):
    """Checks a call that publishes to SNS."""
    broken.check("sns.messageBytes", len(given.get("Message", "").encode()))
    subject = given.get("Subject")
    if subject is not None:
        broken.check("sns.subjectCharacters", len(subject))
        broken.check("sns.subjectControls", len(re.findall(r"[\x00-\x1f\x7f]", subject)))
