import { shorten } from "../core/error.ts";
import { isJsonObject, type JsonValue, parseJson } from "../core/json.ts";
import { readText } from "../streams/byte_reader.ts";
import type { OptionSpec } from "./command.ts";
import { plainText } from "./text.ts";

/** What a gateway is asked with. */
export interface AskTools {
  readonly fetch: typeof fetch;
  /** A signal that aborts after this many milliseconds. */
  readonly deadline: (ms: number) => AbortSignal;
}

/** What a gateway is asked. */
interface AskOptions {
  readonly url: string;
  /** Absent: the question goes without a token. */
  readonly token?: string | undefined;
  /** Sent with POST; absent: GET. */
  readonly body?: unknown;
  /** How long the answer may take; default: as long as a model may think about one sentence. */
  readonly deadlineMs?: number;
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

/**
 * Many times what any gateway answers, in bytes: a list of 10,000 models has some 8 MB. Of what is longer, there is no
 * text: whatever answers there, it is no gateway.
 */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Asks a gateway. The token goes to that address alone: a redirect is not followed.
 *
 * @throws {NoAnswer}
 */
export async function askGateway(
  { url, token, body, deadlineMs = 120_000 }: AskOptions,
  { fetch, deadline }: AskTools,
): Promise<Asked> {
  try {
    const answer = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: headersFor(token, body),
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "manual",
      signal: deadline(deadlineMs),
    });
    const text = await readText(answer, MAX_ANSWER_BYTES) ?? "";
    return {
      status: answer.status,
      type: answer.headers.get("content-type") ?? "",
      text,
      body: parseJson(text),
    };
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") {
      const message = `there was no answer in ${deadlineMs / 1000} s`;
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

/** What was asked for could not be read; the message is one line for people, without the token. */
export class GatewayUnread extends Error {
  override readonly name = "GatewayUnread";
  /** Whether asking again later may help. */
  readonly isPassing: boolean;

  constructor(
    { url }: AskOptions,
    { reason, isPassing }: {
      readonly reason: string;
      readonly isPassing: boolean;
    },
  ) {
    super(`Cannot read ${url}: ${reason}`);
    this.isPassing = isPassing;
  }
}

/**
 * Reads something from a gateway.
 *
 * @param isWanted Whether an answer with status 200 is that.
 * @throws {GatewayUnread} For everything else.
 */
export async function readGateway<Wanted>(
  options: AskOptions,
  tools: AskTools,
  isWanted: (body: unknown) => body is Wanted,
): Promise<Wanted> {
  const answer = await askGateway(options, tools).catch((error) => {
    if (!(error instanceof NoAnswer)) throw error;
    const { isThere, message } = error;
    throw new GatewayUnread(options, {
      reason: isThere ? `something is there, but ${message}` : message,
      isPassing: !isThere,
    });
  });
  const { status, body } = answer;
  if (status === 200 && isWanted(body)) return body;
  throw new GatewayUnread(options, {
    reason: refusal(answer),
    isPassing: status === 429 || status >= 500,
  });
}

function refusal(answer: Asked): string {
  const { status } = answer;
  const message = errorMessage(answer);
  if (message === undefined || status < 400) return notGateway(answer);
  switch (status) {
    case 401:
      return "the gateway does not know the token, or it has expired: ask the administrator for a new one";
    case 504:
      return "the providers took longer than the gateway waits, ask again in a moment: what was read is kept";
    default:
      return `HTTP ${status}, ${message}`;
  }
}

/** What to say of an answer that no gateway gives. */
export function notGateway({ status }: Asked): string {
  return status >= 502 && status <= 504
    ? `HTTP ${status}: a proxy answers there, but not the gateway behind it; tell the administrator`
    : `what answers there is no Model Gateway (HTTP ${status}), see whether --url names one`;
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

/** What a platform says of a request that got no answer, and what that means; the first match wins. */
const FAULTS: readonly (readonly [pattern: RegExp, fault: string])[] = [
  [/peer certificate.*expired/i, "its certificate has expired"],
  [/peer certificate.*name/i, "its certificate is for another name"],
  [
    /peer certificate/i,
    "its certificate is not trusted here: name the PEM file of its authority in DENO_CERT",
  ],
  [
    /InvalidContentType/,
    "it speaks no TLS there: write http:// in place of https://",
  ],
  [
    /invalid HTTP version/i,
    "it speaks no HTTP there, or with TLS alone: try https:// in place of http://",
  ],
];

/**
 * Why something that is there gave no answer, as the end of a sentence; `undefined` where nothing may be
 * there.
 */
export function connectionFault(error: unknown): string | undefined {
  const message = innermostMessage(error);
  return FAULTS.find(([pattern]) => pattern.test(message))?.[1];
}

/** The first line of what an error says, of its first cause where it has one: the rest only wraps it. */
export function innermostMessage(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  if (error.cause instanceof Error) return innermostMessage(error.cause);
  return error.message.split("\n")[0] ?? "";
}

/** Where a gateway on this machine is, unless it is told otherwise. */
export const DEFAULT_URL = "http://127.0.0.1:8787";

/** A gateway and a token for it. */
export interface GatewayAddress {
  /** What `/v1` comes after, such as `http://127.0.0.1:8787`. */
  readonly base: string;
  /** Empty where none is given. */
  readonly token: string;
}

/**
 * Reads the gateway and the token that a command shall use: an option wins over its environment variable.
 *
 * @param values Of the options `url` and `token`.
 * @param env Of the environment: `MODEL_GATEWAY_URL` and `MODEL_GATEWAY_TOKEN`.
 * @returns The address, or what is wrong with it, without the token.
 */
export function readGatewayAddress(
  values: ReadonlyMap<string, string>,
  env: (name: string) => string | undefined,
): GatewayAddress | { readonly fault: string } {
  const base = gatewayBase(
    values.get("url") ?? (env("MODEL_GATEWAY_URL") || DEFAULT_URL),
  );
  if (base === undefined) return { fault: BAD_URL };
  const token = values.get("token") ?? env("MODEL_GATEWAY_TOKEN") ?? "";
  return /^[\x21-\x7e]*$/.test(token) ? { base, token } : { fault: BAD_TOKEN };
}

const BAD_URL =
  "--url must be the address of a gateway, such as http://127.0.0.1:8787";

/** Nothing else can stand in a header. */
const BAD_TOKEN =
  "the token must be one word of plain letters, digits and signs";

/** Why a command that needs a token does nothing. */
export const NO_TOKEN =
  "there is no token: set MODEL_GATEWAY_TOKEN, or use --token";

/** Clients are set up with the address, with `/v1` or with `/api/v1`: each will do here, also the list of limits. */
function gatewayBase(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username + url.password + url.search + url.hash !== "") {
    return undefined;
  }
  const path = url.pathname.replace(/\/+$/, "").replace(/\/limits$/, "");
  return url.origin + path.replace(/\/v1$/, "");
}

/** The options that say where a gateway is and who asks it. */
export const ADDRESS_OPTIONS: readonly OptionSpec[] = [
  {
    name: "url",
    value: "URL",
    summary: "the gateway; else MODEL_GATEWAY_URL, else http://127.0.0.1:8787",
  },
  {
    name: "token",
    value: "TOKEN",
    summary:
      "else MODEL_GATEWAY_TOKEN, which other users of the machine do not see",
  },
];
