"""Ask other agents and answer them, over the channels of an OpenIntent server.

    client = OpenIntentClient(agent_id="asker")
    channel = client.channels.open("clarification", intent_id)
    print(channel.ask("data-agent", {"question": "which schema?"}).payload)

`OpenIntentClient` blocks, `AsyncOpenIntentClient` is for asyncio; `Agent` and `on_message` turn a class into an agent.
"""

from . import errors
from ._async_running import AsyncIteration
from ._running import Iteration
from .agents import (
    Agent,
    AgentBase,
    AgentMessage,
    BlockingAgentMessage,
    on_digest,
    on_mention,
    on_message,
    on_obligation,
)
from .async_client import AsyncOpenIntentClient
from .async_handles import AsyncChannelHandle
from .async_mailbox import AsyncBatch, AsyncMailbox
from .attention import Attention, AttentionClaim, AttentionRule, Explanation, Knock
from .claims import AsyncClaim, Claim
from .client import OpenIntentClient
from .concerns import Concern, ConcernPage
from .conversations import Annotation, Discharge, Reaction, Revision, Thread
from .digests import Digest, DigestCount, DigestSpan, DigestSubject
from .directory import AgentPage, AgentRecord, IntentPage, Role
from .errors import *  # noqa: F403
from .handles import ChannelHandle
from .leases import AsyncLease, Lease
from .mail import Answered, MailboxMessage
from .mailbox import Batch, Mailbox
from .models import Channel, ChannelOptions, Intent, Message
from .reach import Reach, ReachPath, ReachWaiting
from .search import FoundMessage, SearchPage
from .workflows import Workflow, WorkflowError, load_workflow

__all__ = [
    "Agent",
    "AgentBase",
    "AgentMessage",
    "AgentPage",
    "AgentRecord",
    "Annotation",
    "Answered",
    "AsyncBatch",
    "AsyncChannelHandle",
    "AsyncClaim",
    "AsyncIteration",
    "AsyncLease",
    "AsyncMailbox",
    "AsyncOpenIntentClient",
    "Attention",
    "AttentionClaim",
    "AttentionRule",
    "Batch",
    "BlockingAgentMessage",
    "Channel",
    "ChannelHandle",
    "ChannelOptions",
    "Claim",
    "Concern",
    "ConcernPage",
    "Digest",
    "DigestCount",
    "DigestSpan",
    "DigestSubject",
    "Discharge",
    "Explanation",
    "FoundMessage",
    "Intent",
    "IntentPage",
    "Iteration",
    "Knock",
    "Lease",
    "Mailbox",
    "MailboxMessage",
    "Message",
    "OpenIntentClient",
    "Reach",
    "ReachPath",
    "ReachWaiting",
    "Reaction",
    "Revision",
    "Role",
    "SearchPage",
    "Thread",
    "Workflow",
    "WorkflowError",
    "load_workflow",
    "on_digest",
    "on_mention",
    "on_message",
    "on_obligation",
]
__all__ += errors.__all__
