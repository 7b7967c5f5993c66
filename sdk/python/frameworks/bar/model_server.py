"""A server that speaks as the servers of models do, for the examples: OpenAI's chat completions and responses, and
Gemini's. Its model answers the first message that it is shown, and then says "done"."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

ANSWER = "v2.3"


class ModelServer:
    """The server, within a block."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ModelServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # noqa: N802
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        shown = re.findall(r'\{\\+"id\\+":\\+"(msg_\w+)', asked)
        called = "Your answer is stored." in asked
        args = None if called or not shown else {"message_id": shown[0], "text": ANSWER}
        said = json.dumps(_form(self.path)(args)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


def _form(path: str) -> Any:
    if path.endswith("/chat/completions"):
        return _completion
    return _response if path.endswith("/responses") else _content


def _completion(args: dict[str, str] | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "done"}
    if args is not None:
        function = {"name": "answer", "arguments": json.dumps(args)}
        calls = [{"id": "c1", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "stop" if args is None else "tool_calls", "logprobs": None}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "r1", "object": "chat.completion", "created": 1, "model": "stub", "choices": [choice], "usage": usage}


def _response(args: dict[str, str] | None) -> dict[str, Any]:
    text = {"type": "output_text", "text": "done", "annotations": []}
    item: dict[str, Any] = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
    if args is not None:
        item = {
            "type": "function_call", "id": "f1", "call_id": "c1", "name": "answer", "arguments": json.dumps(args),
            "status": "completed",
        }
    usage = {
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
    }
    return {
        "id": "r1", "object": "response", "created_at": 1, "model": "stub", "output": [item], "status": "completed",
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage, "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
    }


def _content(args: dict[str, str] | None) -> dict[str, Any]:
    part: dict[str, Any] = {"text": "done"} if args is None else {"functionCall": {"name": "answer", "args": args}}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}
