"""Evaluates the key conditions of queries faster than ministack, which parses the condition again for each
item of a partition."""

import re
from functools import lru_cache

from ministack.services import dynamodb

# The forms of conditions that this project uses, all on keys of type string. ministack itself evaluates any
# other form.
FORM = re.compile(
    r"pk = (?P<pk>:\w+)(?: AND (?:sk BETWEEN (?P<least>:\w+) AND (?P<most>:\w+)|begins_with\(sk, (?P<prefix>:\w+)\)|sk (?P<sign>[<>]) (?P<bound>:\w+)))?"
)


def install():
    """Replaces ministack's evaluation of conditions."""
    parse = lru_cache(maxsize=None)(dynamodb._tokenize)
    dynamodb._tokenize = lambda expression: list(parse(expression))
    dynamodb._condition_syntax_error = lru_cache(maxsize=None)(dynamodb._condition_syntax_error)
    dynamodb._evaluate_condition = evaluate_key_conditions(dynamodb._evaluate_condition)


@lru_cache(maxsize=None)
def parse_condition(expression):
    """Returns the parts of a condition that has FORM; None for any other condition."""
    found = FORM.fullmatch(expression)
    return found and found.groupdict()


def evaluate_key_conditions(evaluate):
    """Wraps ministack's evaluation so that conditions that have FORM are evaluated here."""
    def call(expression, item, values, names, slot="ConditionExpression"):
        form = parse_condition(expression) if slot == "KeyConditionExpression" else None
        if not form:
            return evaluate(expression, item, values, names, slot)
        text = lambda name: values[form[name]]["S"]
        sk = item["sk"]["S"]
        if item["pk"]["S"] != text("pk"):
            return False
        if form["least"]:
            return text("least") <= sk <= text("most")
        if form["prefix"]:
            return sk.startswith(text("prefix"))
        if form["sign"]:
            return sk < text("bound") if form["sign"] == "<" else sk > text("bound")
        return True

    return call
