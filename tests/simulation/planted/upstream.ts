import type { FaultsByFile } from "./fault.ts";

/** Faults of the HTTP client. */
export const UPSTREAM_FAULTS: FaultsByFile = {
  "http1/client/client.ts": [
    {
      name: "others of a lost pool are kept",
      text: "      idle.closeSince(address.key, sentMs);\n",
      wrong: "",
    },
    {
      name: "a request that was sent is sent again",
      text: 'const isUnsent = cause.progress.sent === "nothing";',
      wrong: "const isUnsent = true;",
    },
    {
      name: "any failure on a kept connection is sent again",
      text:
        "      if (!(cause instanceof Http1Failure && cause.wasLost)) throw cause;\n",
      wrong:
        "      if (!(cause instanceof Http1Failure && cause.wasLost)) {\n        return await sendOver(await open(address, request), address, sending);\n      }\n",
    },
    {
      name: "an unsent request is not sent again",
      text: "      if (!isUnsent || request.signal.aborted) throw cause;\n",
      wrong: "      throw cause;\n",
    },
    {
      name: "a request is sent again although it was aborted",
      text: "if (!isUnsent || request.signal.aborted) throw cause;",
      wrong: "if (!isUnsent) throw cause;",
      unseen: "the dial that follows looks at the signal",
    },
    {
      name: "a connection that opens too late stays open",
      text: "    if (signal.aborted) new Socket(duplex, () => {}).close();\n",
      wrong: "",
    },
    {
      name: "a dial does not hear of the abort",
      text:
        `    signal.addEventListener("abort", stop, { once: true });\n    const cancel`,
      wrong: "    const cancel",
    },
    {
      name: "the deadline of a dial is missing",
      text:
        `      () => dialing.abort(new Error("The connection timed out")),\n`,
      wrong: "      () => {},\n",
    },
    {
      name: "the timer of a dial stays",
      text:
        "    } finally {\n      cancel();\n      signal.removeEventListener",
      wrong: "    } finally {\n      signal.removeEventListener",
      unseen: "an abort after the connection has opened does nothing",
    },
    {
      name: "a probe uses a kept connection",
      text: "    let known = request.overNewConnection\n",
      wrong: '    let known = request.method === "PUT"\n',
    },
    {
      name: "a body that is lent is never given back",
      text: ".finally(() => loan.settle());",
      wrong: ";",
      unseen: "only bodies above 256 KiB are lent",
    },
    {
      name: "a connection serves again before its turn is over",
      text: "    while (known?.rest !== undefined) {\n",
      wrong: "    while (known === undefined && known?.rest) {\n",
    },
  ],
  "http1/client/idle_sockets.ts": [
    {
      name: "an old connection serves on",
      text: "MAX_AGE_MS = 300_000",
      wrong: "MAX_AGE_MS = 300_000_000",
    },
    {
      name: "an idle connection is kept for an hour",
      text: "IDLE_MS = 30_000",
      wrong: "IDLE_MS = 3_600_000",
    },
    {
      name: "a closed connection stays in the pool",
      text: "    } while (found?.socket.isClosed);\n",
      wrong: "    } while (false);\n",
      unseen: "nothing is sent on it, so the request takes a new one",
    },
    {
      name: "a connection that was taken is closed when its idle time ends",
      text: "      found?.stopWaiting();\n      if (found",
      wrong: "      if (found",
    },
    {
      name: "an idle connection stays when its time is over",
      text: "start(idleMs, close, sinceMs)",
      wrong: "start(idleMs, () => {}, sinceMs)",
    },
    {
      name: "an idle connection that its provider closes stays",
      text: "    socket.watchIdle(close);\n",
      wrong: "",
    },
    {
      name: "a timer of a forgotten connection stays",
      text: "      stopWaiting();\n    }\n    if (idle.length === 0)",
      wrong: "    }\n    if (idle.length === 0)",
      unseen: "it fires within 30 s, for a connection that nobody has",
    },
    {
      name: "the oldest idle connection serves",
      text: "      found = idle?.pop();\n",
      wrong: "      found = idle?.shift();\n",
      unseen: "any idle connection that is alive may serve",
    },
    {
      name: "nothing is kept",
      text:
        "    const mayKeep = !this.#isDisposed && idleMs > 0 && this.#maxIdle > 0;\n",
      wrong: "    const mayKeep = false;\n",
    },
  ],
  "http1/client/socket.ts": [
    {
      name: "a connection with surplus bytes is used again",
      text: "this.#isClosed || !isKeptAlive || hasSurplus",
      wrong: "this.#isClosed || !isKeptAlive",
    },
    {
      name: "a connection that its provider ends is used again",
      text: "this.#isClosed || !isKeptAlive || hasSurplus",
      wrong: "this.#isClosed || hasSurplus",
    },
    {
      name: "a closed connection is kept",
      text: "this.#isClosed || !isKeptAlive || hasSurplus",
      wrong: "!isKeptAlive || hasSurplus",
      unseen: "the pool looks at it again",
    },
    {
      name: "a connection ignores the abort",
      text: `    const stop = () => this.close();\n`,
      wrong: `    const stop = () => {};\n`,
    },
    {
      name: "a signal keeps its listener after the response",
      text: "        letGo();\n        void this.#complete(response);\n",
      wrong: "        void this.#complete(response);\n",
    },
    {
      name: "a failed exchange leaves its connection open",
      text: "      letGo();\n      this.close();\n      await this.#learnSent",
      wrong: "      letGo();\n      await this.#learnSent",
      unseen: "the failure closes it, too",
    },
    {
      name: "a failure leaves its connection open",
      text: "  failure(cause: unknown): Http1Failure {\n    this.close();\n",
      wrong: "  failure(cause: unknown): Http1Failure {\n",
      unseen: "its reader is cancelled, or its request aborted: both close it",
    },
    {
      name: "what was sent is not known",
      text: `          this.#sent = "part";\n          at += count;`,
      wrong: `          at += count;`,
    },
    {
      name: "only the beginning of a block is sent",
      text: "        while (at < block.length) {\n",
      wrong: "        if (at < block.length) {\n",
    },
    {
      name: "an interim response is final",
      text: "      if (head.status >= 200) return head;\n",
      wrong: "      if (head.status >= 100) return head;\n",
    },
    {
      name: "a closed idle connection is not noticed",
      text: "    this.read().then(gone, gone);\n",
      wrong: "",
    },
    {
      name: "a busy connection is closed by its idle watch",
      text: "      if (!this.#isIdle) return;\n",
      wrong: "",
    },
  ],
  "http1/incoming_bytes.ts": [
    {
      name: "bytes that were taken are taken again",
      text: "    this.#start += takenBytes;\n",
      wrong: "    this.#start += payload.length;\n",
    },
    {
      name: "payload shares its memory with the next read",
      text: "    if (isSmall) return copyOf(payload);\n",
      wrong: "    if (isSmall) return payload;\n",
    },
    {
      name: "bytes before the buffer's growth are lost",
      text:
        "      larger.set(this.#buffer.subarray(this.#start, this.#end));\n",
      wrong: "",
    },
  ],
  "http1/failure.ts": [
    {
      name: "a fresh connection counts as lost",
      text: '=== "closed" && isReused && !hasAnswer;',
      wrong: '=== "closed" && !hasAnswer;',
    },
    {
      name: "a connection that has answered counts as lost",
      text: '=== "closed" && isReused && !hasAnswer;',
      wrong: '=== "closed" && isReused;',
    },
  ],
  "http1/body_decoder.ts": [
    {
      name: "a cancelled body leaves its connection open",
      text: "    if (!this.#isOver) {\n      this.#socket.close();\n",
      wrong: "    if (!this.#isOver) {\n",
    },
    {
      name: "a body that ends early is whole",
      text: "          if (!this.#decoder.end()) {\n",
      wrong: "          if (!this.#decoder.end() && this.#isOver) {\n",
    },
    {
      name: "a length is one too long",
      text: "    return this.#leftBytes === 0;",
      wrong: "    return this.#leftBytes <= 1;",
    },
    {
      name: "a line of a chunk that arrives in parts loses its beginning",
      text: "    this.#line += byteText(bytes.subarray(start, end));",
      wrong: "    this.#line = byteText(bytes.subarray(start, end));",
    },
    {
      name: "a chunk does not end where it says",
      text: "        const end = Math.min(length, at + this.#leftBytes);",
      wrong: "        const end = length;",
    },
    {
      name: "a body in chunks ends with its connection",
      text:
        "      takenBytes: at,\n    };\n  }\n\n  end(): boolean {\n    return false;",
      wrong:
        "      takenBytes: at,\n    };\n  }\n\n  end(): boolean {\n    return true;",
    },
    {
      name: "a body with a length ends with its connection",
      text:
        "takenBytes: payload.length };\n  }\n\n  end(): boolean {\n    return false;",
      wrong:
        "takenBytes: payload.length };\n  }\n\n  end(): boolean {\n    return true;",
    },
  ],
  "http1/head.ts": [
    {
      name: "two lengths are one",
      text: `      throw badLength();\n    } else if (name === "set-cookie") {`,
      wrong: `      continue;\n    } else if (name === "set-cookie") {`,
    },
    {
      name: "a head that arrives in parts is not found",
      text: "Math.max(0, from - HEAD_END.length + 1)",
      wrong: "from",
    },
    {
      name: "a body without a length has none",
      text: `  return { kind: coding ? "chunked" : "close" };`,
      wrong: `  return { kind: coding ? "chunked" : "none" };`,
    },
  ],
  "gateway/upstream/call.ts": [
    {
      name: "the deadline of the first byte is missing",
      text: "    () => controller.abort(LATE),\n",
      wrong: "    () => {},\n",
    },
    {
      name: "the timer of the first byte stays",
      text: "  } finally {\n    cancel();\n  }\n  return readableResponse(",
      wrong: "  } finally {\n    // Nothing.\n  }\n  return readableResponse(",
    },
    {
      name: "silence counts as the caller's leaving",
      text: "    if (signal.reason === LATE) throw silentUpstream(cause);\n",
      wrong: "    if (signal.reason === LATE) throw new CallerLeft();\n",
    },
  ],
  "gateway/upstream/read_response.ts": [
    {
      name: "the idle timeout of a whole answer is missing",
      text: "  const watched = { deadlines, idleMs, signal };",
      wrong: "  const watched = { deadlines, idleMs: 0, signal };",
    },
    {
      name: "a broken whole answer is not aborted",
      text: "    controller.abort(failure);\n",
      wrong: "",
      unseen: "the reader that failed has closed its connection",
    },
  ],
};
