import { readHeaders } from "../core/header_fields.ts";
import type { Fetch, UpstreamClient } from "./call.ts";

/**
 * A client over a function like `fetch`, for the demo provider and scripts. No network: the platform's `fetch` may send a
 * request twice. It knows no deadline for the connection alone.
 */
export function createFetchClient(fetch: Fetch): UpstreamClient {
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
