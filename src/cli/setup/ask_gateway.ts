import { isJsonObject, type JsonValue, parseJson } from "../../core/json.ts";
import { shorten } from "../../core/shorten.ts";
import { answerText } from "../answer_text.ts";
import { connectionFault } from "../connection_fault.ts";
import { plainText } from "../plain_text.ts";

/** What a gateway is asked with. */
export interface AskTools {
  readonly fetch: typeof fetch;
  /** A signal that aborts after this many milliseconds. */
  readonly deadline: (ms: number) => AbortSignal;
}

/** What a gateway is asked. */
export interface AskOptions {
  readonly url: string;
  /** Absent: the question goes without a token. */
  readonly token?: string | undefined;
  /** Sent with POST; absent: GET. */
  readonly body?: unknown;
}

/** What came back, whatever its status. */
export interface Asked {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** The text as JSON, where it is that. */
  readonly body: JsonValue | undefined;
}

/** There was no answer; the message is the end of a sentence. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** Whether something is there, with which no connection could be made. */
  readonly isThere: boolean;

  constructor(message: string, { isThere }: { readonly isThere: boolean }) {
    super(message);
    this.isThere = isThere;
  }
}

/** As long as a model may think about one sentence. */
const DEADLINE_MS = 120_000;

/**
 * Asks a gateway. The token goes to that address alone: a redirect is not followed.
 *
 * @throws {NoAnswer}
 */
export async function askGateway(
  { url, token, body }: AskOptions,
  { fetch, deadline }: AskTools,
): Promise<Asked> {
  try {
    const answer = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: headersFor(token, body),
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "manual",
      signal: deadline(DEADLINE_MS),
    });
    const text = await answerText(answer) ?? "";
    return {
      status: answer.status,
      type: answer.headers.get("content-type") ?? "",
      text,
      body: parseJson(text),
    };
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") {
      const message = `there was no answer in ${DEADLINE_MS / 1000} s`;
      throw new NoAnswer(message, { isThere: false });
    }
    const fault = connectionFault(error);
    throw new NoAnswer(
      fault ??
        "nothing answers there, see whether the gateway runs and --url names it",
      { isThere: fault !== undefined },
    );
  }
}

/** The date is what every Messages route wants; others take no notice of it. */
function headersFor(
  token: string | undefined,
  body: unknown,
): Record<string, string> {
  return {
    accept: "application/json, text/event-stream",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : {
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
    }),
  };
}

const MAX_MESSAGE_CHARACTERS = 300;

/** What the gateway's error object says, fit for one line; `undefined` where the answer holds none. */
export function errorMessage({ body }: Asked): string | undefined {
  const error = isJsonObject(body) ? body.error : undefined;
  const message = isJsonObject(error) ? error.message : undefined;
  return typeof message === "string"
    ? shorten(plainText(message), MAX_MESSAGE_CHARACTERS)
    : undefined;
}
