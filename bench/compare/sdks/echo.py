"""The floor of the Python SDK: the calls of an ask by grpc.aio alone, without the SDK.

Usage: echo.py answer|ask SERVER KEY CHANNEL RESPONDER

The parts are those of ask.py. The server stores nothing. It hands each question to the stream of the answering process, and
the answer back to the asker, so a question takes the same way as an ask. With the work `unary` it answers by itself.
"""

import asyncio
import json
import sys
import time

import grpc
from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct
from openintent_channels._generated import messages_pb2 as messages

PART, SERVER, _, CHANNEL, RESPONDER = sys.argv[1:]
PAYLOAD = ParseDict({"question": "what schema version does the dataset use? " * 11, "attempt": 1}, Struct())


def unary(connection, method, request, response):
    return connection.unary_unary(
        f"/openintent.v1.MessageService/{method}",
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )


async def answer(connection):
    follow = connection.unary_stream(
        "/openintent.v1.MessageService/Subscribe",
        request_serializer=messages.SubscribeRequest.SerializeToString,
        response_deserializer=messages.SubscribeResponse.FromString,
    )
    reply = unary(connection, "ReplyMessage", messages.ReplyMessageRequest, messages.Message)
    stream = follow(messages.SubscribeRequest(channel_id=CHANNEL))
    await stream.initial_metadata()
    print(json.dumps({"Ready": True}), flush=True)
    answering = set()

    async def receive():
        async for delivery in stream:
            question = delivery.message
            one = asyncio.ensure_future(
                reply(messages.ReplyMessageRequest(channel_id=CHANNEL, message_id=question.id, payload=PAYLOAD))
            )
            answering.add(one)
            one.add_done_callback(answering.discard)

    receiving = asyncio.ensure_future(receive())
    await asyncio.to_thread(sys.stdin.read)
    receiving.cancel()


async def measure(call, request, job):
    await call(request)  # the first connects
    took = []
    started = time.monotonic()
    until = started + job["Seconds"]

    async def caller():
        while (before := time.monotonic()) < until:
            await call(request)
            took.append(time.monotonic() - before)

    await asyncio.gather(*(caller() for _ in range(job["Callers"])))
    elapsed = time.monotonic() - started
    took.sort()
    return {
        "PerSecond": len(took) / elapsed,
        "Median": int(took[len(took) // 2] * 1e9),
        "Slow": int(took[len(took) * 99 // 100] * 1e9),
    }


async def ask(connection):
    question = unary(connection, "Ask", messages.AskRequest, messages.Message)
    send = unary(connection, "SendMessage", messages.SendMessageRequest, messages.Message)
    while line := await asyncio.to_thread(sys.stdin.readline):
        job = json.loads(line)
        try:
            if job["Work"] == "unary":
                told = await measure(send, messages.SendMessageRequest(channel_id=CHANNEL, payload=PAYLOAD), job)
            else:
                told = await measure(question, messages.AskRequest(channel_id=CHANNEL, to=RESPONDER, payload=PAYLOAD), job)
        except Exception as error:
            told = {"Error": f"{type(error).__name__}: {error}"}
        print(json.dumps(told), flush=True)


async def main():
    async with grpc.aio.insecure_channel(SERVER) as connection:
        await (answer(connection) if PART == "answer" else ask(connection))


asyncio.run(main())
