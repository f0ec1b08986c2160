import { ALICE_TOKEN, tokenFile } from "../support/gateway/config.ts";
import {
  createSigner,
  GOOD_CLAIMS,
} from "../support/gateway/identity_scene.ts";
import { ask, hello, PATHS } from "../support/wire/ask.ts";
import type { Protocol } from "../../src/base/protocol.ts";
import { reportOf } from "./checked_client.ts";
import { type ClientRun, runClient, type Startable } from "./run_client.ts";
import { startTranslating, upstreamsFor } from "./upstreams.ts";

/** A failure that staff see, made with a gateway in front of a provider. */
export interface SeenFailure {
  /** The provider's response; default: a good answer. */
  readonly answer?: () => Response;
  /** The client's token; default: a valid one. */
  readonly token?: string;
  /** The seconds until the client's token expires, which is then a JWT. */
  readonly jwtSeconds?: number;
  /** The command that prints the token, for {@linkcode clients}; default: none. */
  readonly tokenCommand?: string;
  /** The names of the clients to test; default: all. */
  readonly clients?: readonly string[];
  /** True to test the clients of `other_programs.ts`, too. */
  readonly isForOthers?: boolean;
  /** The client's model; default: one of the gateway's. */
  readonly model?: string;
  /** The limits of the client's token; default: none. */
  readonly limits?: readonly object[];
  /** True if the gateway has stopped before the client starts. */
  readonly isDown?: boolean;
}

const MODEL = "team-model";

/** The number of requests that the token may send, all of them used up before the client starts. */
const REQUESTS = 2;

/** An address at which nothing listens. */
const DOWN = "http://127.0.0.1:9";

/** The failures, by their headings in docs/reference/messages.md. */
export const SEEN_FAILURES: Readonly<Record<string, SeenFailure>> = {
  "A limit of your token is used up": {
    limits: [{ window: "month", requests: REQUESTS }],
    isForOthers: true,
  },
  "The provider's quota is used up": {
    answer: () =>
      Response.json(
        { error: { message: "No more today.", type: "rate_limit_error" } },
        { status: 429, headers: { "retry-after": "7200" } },
      ),
  },
  "Your token is wrong or expired": { token: "mg_nobody" },
  "Your company's token has expired": { jwtSeconds: -600 },
  "The command for your token fails": {
    tokenCommand: "echo Please log in first. >&2; exit 1",
    clients: ["Claude Code", "Codex CLI"],
  },
  "The model is unknown": { model: "no-such-model" },
  "The gateway is down": { isDown: true },
  "The provider refuses the gateway's key": {
    answer: () =>
      Response.json(
        { error: { message: "Incorrect API key", code: "invalid_api_key" } },
        { status: 401 },
      ),
  },
};

/** A client to run with a failure. */
export interface Meeting {
  readonly program: Startable & { readonly protocol: Protocol };
  readonly command: readonly string[];
  readonly failure: SeenFailure;
  /** The most repeats of a request, for clients with such a setting. */
  readonly retries: number;
  /** The longest time of the run, in milliseconds. */
  readonly runMs: number;
}

/** The result of the run. */
export interface Met {
  readonly run: ClientRun;
  /** The client's output and the gateway's log, for the message of a failed test. */
  readonly report: string;
  /** The time from the first request to the end, in milliseconds. */
  readonly tookMs: number;
}

/** Returns the claims of a valid JWT that expires after some seconds. */
export function claimsFor(
  seconds: number,
  nowMs: number = Date.now(),
): typeof GOOD_CLAIMS {
  const now = Math.floor(nowMs / 1000);
  return { ...GOOD_CLAIMS, iat: now - 3600, exp: now + seconds };
}

/** Starts a gateway with the failure, and runs a client with it. */
export async function meet(
  { program, command, failure, retries, runMs }: Meeting,
): Promise<Met> {
  const [upstream] = upstreamsFor(program);
  if (upstream === undefined) throw new Error("There is no upstream");
  const { answer, model = MODEL, limits, isDown, tokenCommand, jwtSeconds } =
    failure;
  const signer = await createSigner();
  const token = jwtSeconds === undefined
    ? failure.token ?? ALICE_TOKEN
    : await signer.sign(claimsFor(jwtSeconds));
  await using gateway = await startTranslating(upstream, {
    model: MODEL,
    signer,
    ...(limits === undefined
      ? {}
      : { file: { tokens: [tokenFile({ limits })] } }),
    ...(answer === undefined ? {} : { spoil: () => Promise.resolve(answer()) }),
  });
  for (let sent = 0; limits !== undefined && sent < REQUESTS; sent++) {
    const body = hello("chat", { model: MODEL });
    const response = await gateway.call(PATHS.chat, ask("chat", body));
    await response.body?.cancel();
  }
  const { items } = gateway.lines.requests;
  const before = items.length;
  const startMs = Date.now();
  const run = await runClient(command, {
    program,
    prompt: "Say hello",
    address: { url: isDown ? DOWN : gateway.url, token, model, tokenCommand },
    retries,
    runMs,
  });
  const first = items[before];
  return {
    run,
    report: reportOf(run, gateway),
    tookMs: Date.now() -
      (first === undefined ? startMs : Date.parse(String(first.time))),
  };
}
