import { type Fetch, readableResponse } from "./call.ts";
import type { HttpClient } from "@gateway/http1";
import { readHeaders } from "@gateway/base/header_fields";
import { createByteReader, streamOf } from "@gateway/base/streams/byte_reader";

/**
 * Creates a client from a function like `fetch`, for the demo provider and scripts. Do not use it for the network,
 * because the platform's `fetch` may send a request twice. The client ignores `connectMs`.
 */
export function createFetchClient(fetch: Fetch): HttpClient {
  return {
    async send({ url, method = "POST", headers, body, signal, onUploaded }) {
      try {
        const answer = await fetch(url, {
          method,
          headers: headers.map(([name, value]) => [name, value]),
          ...(body === undefined ? {} : {
            body: body instanceof Uint8Array
              ? body
              : new Blob([...body.pieces]),
          }),
          redirect: "manual",
          signal,
        });
        return {
          status: answer.status,
          headers: readHeaders(answer.headers),
          body: answer.body,
        };
      } finally {
        onUploaded?.();
      }
    },
  };
}

/**
 * Creates a function like `fetch` from a client, for GET and POST. The function follows no redirect. After an abort, it
 * throws the signal's reason.
 */
export function createClientFetch(client: HttpClient): Fetch {
  return async (url, init) => {
    const request = new Request(url, init);
    const method = request.method === "GET" ? "GET" : "POST";
    const signal = init.signal ?? new AbortController().signal;
    const fail = (cause: unknown): never => {
      throw signal.aborted ? signal.reason : cause;
    };
    const { body, status, headers } = await client.send({
      ...{ url, method, signal, connectMs: 0 },
      headers: [...request.headers],
      body: request.body === null ? undefined : await request.bytes(),
    }).then(readableResponse).catch(fail);
    const fields = new Headers();
    headers.forEach((value, name) => fields.set(name, value));
    const reader = body && createByteReader(body);
    const stream = reader && streamOf({
      read: () => reader.read().catch(fail),
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(stream, { status, headers: fields });
  };
}
