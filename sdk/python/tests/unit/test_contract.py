"""What is written by hand agrees with the protos, and does not disturb other packages."""

import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from openintent_channels import _methods
from openintent_channels._generated import (
    agents_pb2,
    attention_pb2,
    channels_pb2,
    claims_pb2,
    concern_pb2,
    intents_pb2,
    leases_pb2,
    messages_pb2,
    obligations_pb2,
    reach_pb2,
    reactions_pb2,
    search_pb2,
    subscriptions_pb2,
)

PROTOS: dict[str, ModuleType] = {
    "IntentService": intents_pb2,
    "ChannelService": channels_pb2,
    "MessageService": messages_pb2,
    "AgentService": agents_pb2,
    "LeaseService": leases_pb2,
    "SubscriptionService": subscriptions_pb2,
    "ReachService": reach_pb2,
    "ConcernService": concern_pb2,
    "ReactionService": reactions_pb2,
    "ObligationService": obligations_pb2,
    "SearchService": search_pb2,
    "ClaimService": claims_pb2,
    "AttentionService": attention_pb2,
}
METHODS = [value for value in vars(_methods).values() if isinstance(value, _methods.Method)]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.path)
def test_methods_are_those_of_the_protos(method: _methods.Method[Any, Any]) -> None:
    descriptor = PROTOS[method.service].DESCRIPTOR.services_by_name[method.service].methods_by_name[method.name]
    assert method.path == f"/{descriptor.containing_service.full_name}/{descriptor.name}"
    assert method.asked.DESCRIPTOR is descriptor.input_type
    assert method.answer.DESCRIPTOR is descriptor.output_type
    assert method.streams == descriptor.server_streaming
    assert not descriptor.client_streaming


def test_no_protos_of_others_are_registered() -> None:
    program = """
import openintent_channels
from google.protobuf import descriptor_pool
for name in ("buf/validate/validate.proto", "google/api/annotations.proto", "google/api/field_behavior.proto"):
    try:
        descriptor_pool.Default().FindFileByName(name)
    except KeyError:
        continue
    raise SystemExit(name + " is registered")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})
