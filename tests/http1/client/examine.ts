import type { HttpResponse } from "../../../src/http1/message.ts";
import { Socket } from "../../../src/http1/client/socket.ts";
import { Http1Failure } from "../../../src/http1/failure.ts";
import assert from "node:assert/strict";
import {
  createByteReader,
  readAll,
} from "../../../src/base/streams/byte_reader.ts";
import { byteText } from "../../../src/base/streams/bytes.ts";
import { createScriptedDuplex } from "../../support/upstream/scripted_duplex.ts";
import { within } from "../../support/within.ts";
import type { Verdict } from "./odd_responses.ts";

/** Reads a response whole, one character for each byte. */
export async function bodyOf(
  { body }: Pick<HttpResponse, "body">,
): Promise<string> {
  if (body === null) return "";
  const bytes = await readAll(createByteReader(body), 1e8);
  assert.ok(bytes);
  return byteText(bytes);
}

/**
 * Returns the verdict on a response that arrives in these pieces and ends with its connection.
 *
 * @throws Any error other than {@linkcode Http1Failure}, and when there is no verdict in time.
 */
export async function examine(
  pieces: Iterable<string | Uint8Array>,
): Promise<Verdict> {
  const duplex = createScriptedDuplex();
  duplex.give(...pieces);
  duplex.end();
  const socket = new Socket(duplex, () => socket.close());
  const verdict = await within(read(socket), "the verdict");
  await within(duplex.closed, "the close of the connection");
  return verdict;
}

async function read(socket: Socket): Promise<Verdict> {
  try {
    const response = await socket.send({
      method: "POST",
      target: "/",
      host: "a",
      headers: [],
      body: undefined,
      signal: new AbortController().signal,
    });
    return { status: response.status, body: await bodyOf(response) };
  } catch (cause) {
    assert.ok(cause instanceof Http1Failure, String(cause));
    assert.notEqual(cause.kind, "connect");
    return cause.kind === "malformed" ? "malformed" : "closed";
  }
}
