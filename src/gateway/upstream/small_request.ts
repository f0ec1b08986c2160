import type { HeaderFields } from "@gateway/base/header_fields";
import type { HttpClient } from "@gateway/http1";
import { type Deadlines, within } from "@gateway/base/time/deadlines";
import { readText } from "@gateway/base/streams/byte_reader";

/** A short request to an identity provider or a metadata service, never to a model. */
export interface SmallRequest {
  /** Default: POST with a body, else GET. */
  readonly method?: "PUT";
  readonly url: string;
  /** The headers beside `accept: application/json`. An `accept` in these headers replaces that header. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The reason why there is no response, as the end of a sentence. */
export class NoReply extends Error {
  override readonly name = "NoReply";
}

const ANSWER_MS = 10_000;

const MAX_BYTES = 64 * 1024;

/**
 * Sends a small request and reads its response.
 *
 * @throws {NoReply}
 */
export async function sendSmall(
  { url, headers, body, method }: SmallRequest,
  { client, start }: {
    readonly client: HttpClient;
    readonly start: Deadlines["start"];
  },
): Promise<
  {
    readonly status: number;
    readonly headers: HeaderFields;
    readonly text: string;
  }
> {
  const { host } = new URL(url);
  const controller = new AbortController();
  const work = async () => {
    const response = await client.send({
      url,
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: Object.entries({ accept: "application/json", ...headers }),
      body: body === undefined ? undefined : new TextEncoder().encode(body),
      connectMs: ANSWER_MS,
      signal: controller.signal,
    });
    const text = await readText(response, MAX_BYTES);
    const { status } = response;
    return { status, headers: response.headers, text: text ?? "" };
  };
  try {
    return await within(work(), {
      ms: ANSWER_MS,
      start,
      onLate() {
        controller.abort();
        throw new NoReply(`${host} did not answer within 10 s`);
      },
    });
  } catch (error) {
    throw error instanceof NoReply
      ? error
      : new NoReply(`${host} cannot be reached`);
  }
}
