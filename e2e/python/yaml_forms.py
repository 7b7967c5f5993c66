"""Compares the YAML of an answer with its JSON, as a reader of YAML 1.1 takes it: yaml_forms.py JSON-FILE YAML-FILE."""

import json
import sys

import yaml


def same(want, got):
    """Whether two values are the same, down to their types; an integer may have become a float."""
    if isinstance(want, dict):
        return isinstance(got, dict) and list(want) == list(got) and all(same(want[key], got[key]) for key in want)
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and all(map(same, want, got))
    if isinstance(want, float) or isinstance(got, float):
        return type(want) in (int, float) and type(got) in (int, float) and float(want) == float(got)
    return type(want) is type(got) and want == got


with open(sys.argv[1], encoding="utf-8") as file:
    want = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    got = yaml.safe_load(file)
for key in want:
    if not same(want[key], got.get(key)):
        print("differs:", key, want[key], got.get(key))
