"""A retrieval server that answers every query with the same passages, to measure clients.

    python search_server.py

It prints its port, and reads requests with a Content-Length; standard library only.
"""

import asyncio

# {"result": [{"document": {"contents": "\"Title\"\n..."}, "score": 1.0}, ... three of them]}
_TEXT = b'"Title"\n' + b"A passage of some length. " * 8
_HIT = b"\x82\xa8document\x81\xa8contents\xd9" + bytes([len(_TEXT)]) + _TEXT
_HIT += b"\xa5score\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"
_BODY = b"\x81\xa6result\x93" + 3 * _HIT
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(_BODY) + _BODY


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            writer.write(_ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
