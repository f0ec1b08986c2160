import type { Shot } from "./load.ts";

const MIB = 1024 * 1024;

/** A path of the benchmark. */
export type Path =
  | "/v1/chat/completions"
  | "/v1/messages"
  | "/v1/responses";

/** The parameters of a request. */
export interface Asked {
  readonly path: Path;
  readonly model: string;
  readonly token: string;
  /** The chunks of a stream; absent for a whole answer. */
  readonly stream?: "small" | "large" | "paced" | undefined;
  /** The length of the prompt in bytes. Default: 200. */
  readonly promptBytes?: number;
}

/** Returns the request for a model, in the path's protocol. */
export function shotFor(
  { path, model, token, stream, promptBytes = 200 }: Asked,
): Shot {
  const prompt = "x".repeat(promptBytes);
  const body = JSON.stringify({
    model,
    stream: stream !== undefined,
    ...(path === "/v1/responses"
      ? { input: prompt }
      : { messages: [{ role: "user", content: prompt }] }),
    ...(path === "/v1/messages" ? { max_tokens: 4096 } : {}),
    ...(path === "/v1/chat/completions" && stream !== undefined
      ? { stream_options: { include_usage: true } }
      : {}),
  });
  return {
    path,
    body: promptBytes > MIB ? new Blob([body]) : body,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      ...(stream === undefined ? {} : { "x-bench": stream }),
    },
  };
}
