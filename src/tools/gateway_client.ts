import { shorten } from "@gateway/base/error";
import { isJsonObject, type JsonValue, parseJson } from "@gateway/base/json";
import { readText } from "@gateway/base/streams/byte_reader";
import type { Fetch } from "@gateway/gateway";
import { BadArguments, CommandFailed } from "./arguments.ts";
import type { OptionSpec } from "./command.ts";
import { endSentence, plainText } from "@gateway/base/text";

/** The means to send a request to a gateway. */
export interface RequestTools {
  readonly fetch: Fetch;
  /** Returns a signal that aborts after this many milliseconds. */
  readonly deadline: (ms: number) => AbortSignal;
}

/** A request to a gateway. */
interface RequestOptions {
  readonly url: string;
  /** Absent for a request without a token. */
  readonly token?: string | undefined;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body of a POST; absent for a GET. */
  readonly body?: unknown;
  /** The timeout of the response. By default, a model has enough time to reason about one sentence. */
  readonly deadlineMs?: number;
}

/** A response of any status. */
export interface GatewayResponse {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** The text, parsed as JSON; `undefined` when the text is not JSON. */
  readonly body: JsonValue | undefined;
  /** True for an error that occurs again when the request is repeated. */
  readonly isFinal: boolean;
}

/** The error of a request without a response. The message is the reason, as the end of a sentence. */
export class NoResponse extends Error {
  override readonly name = "NoResponse";
  /** True when there is a server at the address, but the connection to this server failed. */
  readonly isThere: boolean;
  /** The message, followed by advice for a command that gets the address from {@linkcode readGatewayAddress}. */
  readonly advised: string;

  constructor(
    message: string,
    { isThere, advice = "" }: {
      readonly isThere: boolean;
      readonly advice?: string;
    },
  ) {
    super(message);
    this.isThere = isThere;
    this.advised = message + advice;
  }
}

/**
 * The longest response that is read, in bytes. Even a list of 10,000 models has only some 8 MB, so a longer response
 * does not come from a gateway. The text of such a response is left empty.
 */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Sends a request to a gateway. Follows no redirect, so that no other address receives the token.
 *
 * @throws {NoResponse} When no response comes.
 */
export async function requestGateway(
  { url, token, headers, body, deadlineMs = 120_000 }: RequestOptions,
  { fetch, deadline }: RequestTools,
): Promise<GatewayResponse> {
  let hasBegun = false;
  try {
    const answer = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      headers: { ...headersFor(token, body), ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      redirect: "manual",
      signal: deadline(deadlineMs),
    });
    hasBegun = true;
    const text = await readText(answer, MAX_ANSWER_BYTES) ?? "";
    return {
      status: answer.status,
      type: answer.headers.get("content-type") ?? "",
      text,
      body: parseJson(text),
      isFinal: answer.headers.get("x-should-retry") === "false",
    };
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") {
      const message = `no response came within ${deadlineMs / 1000} s`;
      throw new NoResponse(message, { isThere: false });
    }
    if (hasBegun) throw new NoResponse(BROKE_OFF, { isThere: false });
    const fault = networkFault(error);
    throw fault === undefined
      ? new NoResponse("nothing answers there", {
        isThere: false,
        advice: `. Check that the gateway runs, and ${ADDRESS}`,
      })
      : new NoResponse(fault, { isThere: true });
  }
}

/** The option and the variable that set the gateway's address, in the words of messages. */
const ADDRESS = "the address in --url or MODEL_GATEWAY_URL";

/** The reason for a response that ended too early, as the end of a sentence. */
export const BROKE_OFF = "the response broke off";

/** The error of a failed read from a gateway. The message is one line for people and does not contain the token. */
export class GatewayUnread extends CommandFailed {
  override readonly name = "GatewayUnread";
  /** True when a later request may succeed. */
  readonly isPassing: boolean;

  constructor(
    { url }: RequestOptions,
    { reason, isPassing }: {
      readonly reason: string;
      readonly isPassing: boolean;
    },
  ) {
    super(`Cannot read ${url}: ${endSentence(reason)}`);
    this.isPassing = isPassing;
  }
}

/**
 * Reads a JSON body from a gateway.
 *
 * @param isWanted Returns true for a body of the expected shape.
 * @throws {GatewayUnread} Without a response, for a status other than 200, and for a body of another shape.
 */
export async function readGateway<Wanted>(
  options: RequestOptions,
  tools: RequestTools,
  isWanted: (body: unknown) => body is Wanted,
): Promise<Wanted> {
  const answer = await requestGateway(options, tools).catch((error) => {
    if (!(error instanceof NoResponse)) throw error;
    const { isThere, advised } = error;
    throw new GatewayUnread(options, {
      reason: isThere ? `a server is there, but ${advised}` : advised,
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

function refusal(answer: GatewayResponse): string {
  const { status } = answer;
  const message = errorMessage(answer);
  if (message === undefined || status < 400) return notGateway(answer);
  return status === 504
    ? "the providers took longer than the gateway waits. Try again in a moment: the gateway keeps the quotas it has read"
    : `the gateway responded with HTTP ${status}. ${message}`;
}

/** Returns the reason why a response does not come from a gateway, as the end of a sentence. */
export function notGateway({ status }: GatewayResponse): string {
  return status >= 502 && status <= 504
    ? `a proxy answers there (HTTP ${status}), but not the gateway behind it. Contact the administrator`
    : `the server there is not a Model Gateway (HTTP ${status}). Check ${ADDRESS}`;
}

/** Returns the headers of a request. The header `anthropic-version` is for Messages; other routes ignore it. */
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

/**
 * Returns the message of an error that the gateway sent, shortened and safe to print in one line; `undefined` when the
 * body holds no error.
 */
export function errorMessage({ body }: GatewayResponse): string | undefined {
  const error = isJsonObject(body) ? body.error : undefined;
  const message = isJsonObject(error) ? error.message : undefined;
  return typeof message === "string"
    ? shorten(plainText(message), MAX_MESSAGE_CHARACTERS)
    : undefined;
}

/** The platform's error messages for requests without a response, and what each means. The first match counts. */
const FAULTS: readonly (readonly [pattern: RegExp, fault: string])[] = [
  [
    /CaUsedAsEndEntity/,
    "its certificate is one of an authority (CA:TRUE), which no server may use. Make one with openssl's option -addext basicConstraints=critical,CA:FALSE, and set DENO_CERT to it",
  ],
  [/peer certificate.*expired/i, "its certificate has expired"],
  [/peer certificate.*name/i, "its certificate is for another name"],
  [
    /peer certificate/i,
    "its certificate is not trusted here. Set DENO_CERT to the PEM file of its authority",
  ],
  [
    /InvalidContentType/,
    "it does not use TLS. Write http:// instead of https://",
  ],
  [
    /does not speak HTTP/,
    "it does not speak HTTP, or only over TLS. Try https:// instead of http://",
  ],
];

/**
 * Returns the reason why an existing server sent no response, as the end of a sentence. Returns `undefined` when the
 * error does not prove that a server exists.
 */
export function networkFault(error: unknown): string | undefined {
  const message = innermostMessage(error);
  return FAULTS.find(([pattern]) => pattern.test(message))?.[1];
}

/** Returns the first line of the innermost cause's message. The outer errors only wrap this cause. */
export function innermostMessage(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  if (error.cause instanceof Error) return innermostMessage(error.cause);
  return error.message.split("\n")[0] ?? "";
}

/** The default address of a gateway on this machine. */
export const DEFAULT_URL = "http://127.0.0.1:8787";

/** A gateway and a token for it. */
export interface GatewayAddress {
  /** The part of the URL before `/v1`, such as `http://127.0.0.1:8787`. */
  readonly base: string;
  /** The token; empty when the command has no token. */
  readonly token: string;
}

/**
 * Reads the address of the gateway and the token for a command. An option takes precedence over its environment
 * variable.
 *
 * @param values The values of the options `url` and `token`.
 * @param env Reads `MODEL_GATEWAY_URL` and `MODEL_GATEWAY_TOKEN` from the environment.
 * @throws {BadArguments} For an address or a token that cannot be used.
 */
export function readGatewayAddress(
  values: ReadonlyMap<string, string>,
  env: (name: string) => string | undefined,
): GatewayAddress {
  const base = gatewayBase(
    values.get("url") ?? (env("MODEL_GATEWAY_URL") || DEFAULT_URL),
  );
  if (base === undefined) throw new BadArguments(BAD_URL);
  const token = values.get("token") ?? env("MODEL_GATEWAY_TOKEN") ?? "";
  if (!/^[\x21-\x7e]*$/.test(token)) throw new BadArguments(BAD_TOKEN);
  return { base, token };
}

/** The fault of an address that {@linkcode gatewayBase} rejects. */
export const BAD_URL =
  `--url must be the address of a gateway (for example ${DEFAULT_URL})`;

/** The fault of a token with characters that a header cannot hold. */
const BAD_TOKEN =
  "the token must consist of printable ASCII characters without spaces";

/** The fault of a command that needs a token and has none. */
export const NO_TOKEN =
  "there is no token. Set MODEL_GATEWAY_TOKEN or use --token";

/**
 * Returns a gateway's address without the `/v1` or `/limits` at its end. Returns `undefined` when the text is not an
 * HTTP URL, or is a URL with credentials, a query or a fragment.
 */
export function gatewayBase(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  if (url.username + url.password + url.search + url.hash !== "") {
    return undefined;
  }
  const path = url.pathname.replace(/\/+$/, "").replace(/\/limits$/, "");
  return url.origin + path.replace(/\/v1$/, "");
}

/** The options for the address of a gateway and the caller's token. */
export const ADDRESS_OPTIONS: readonly OptionSpec[] = [
  {
    name: "url",
    value: "URL",
    summary: "the gateway; default MODEL_GATEWAY_URL or http://127.0.0.1:8787",
  },
  {
    name: "token",
    value: "TOKEN",
    summary: "the token; default MODEL_GATEWAY_TOKEN, which nobody else sees",
  },
];
