"""The framework's example answers a question, with the framework's own client of a model, for which a server stands in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from model_server import ANSWER, ModelServer
from stage import PATIENCE

from openintent_channels import OpenIntentClient

EXAMPLES = Path(__file__).resolve().parents[4] / "examples/frameworks"


def test_the_example_answers(framework: str) -> None:
    with ModelServer() as models, OpenIntentClient(agent_id="asker") as asker:
        environment = {
            **os.environ, "OPENAI_BASE_URL": f"{models.url}/v1", "OPENAI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": models.url, "GOOGLE_API_KEY": "none",
        }
        channel = asker.channels.open("questions", asker.intents.create("Try the example").id)
        program = subprocess.Popen([sys.executable, str(EXAMPLES / f"with_{framework}.py")], env=environment)
        try:
            asked = channel.ask("helper", {"text": "Which schema?"}, timeout=PATIENCE)
            assert asked.payload == {"text": ANSWER}
            program.send_signal(signal.SIGTERM)
            assert program.wait(PATIENCE) == 0
        finally:
            program.kill()


def test_the_example_is_short(framework: str) -> None:
    assert len((EXAMPLES / f"with_{framework}.py").read_text(encoding="utf-8").splitlines()) <= 30
