import { PATHS } from "../support/wire/ask.ts";
import { bodyOf } from "./ask.ts";
import { askOthers, impactText, judgeImpact } from "./others.ts";
import { type Behaviour, promptOf } from "./question.ts";
import { NATIVE, startUpstream, type Way } from "./scene.ts";
import { type SharedGateway, startSharedGateway } from "./shared_gateway.ts";
import type { SoakOptions } from "./soak_options.ts";

const OTHERS = 1_000;

/** The tokens of the other callers. */
const OTHER_TOKENS = Array.from({ length: 10 }, (_, index) => `other-${index}`);

/** The number of simultaneous requests of the first token. */
const CONCURRENCY = 4;

/** The length of a long body, in bytes: far above the upstream's limit and the buffers of sockets. */
const LONG_BYTES = 6 * 1024 * 1024;

/** The same upstream, native and translated. */
const WAYS: readonly Way[] = [
  NATIVE,
  { protocol: "messages", upstream: "chat", model: "all" },
];

/** The requests of the first token. */
interface Poison {
  readonly name: string;
  readonly behaviour: Behaviour;
  /** The length of the text after the prompt, in bytes. */
  readonly bytes: number;
  /** The expected status of each request; absent when any error of the upstream is expected. */
  readonly status?: number;
}

/** Each has its own gateway, because the connection cools down for a token that makes it fail. */
const POISONS: readonly Poison[] = [
  { name: "flagged prompts", behaviour: "flag", bytes: 0, status: 403 },
  {
    name: "bodies that are too long",
    behaviour: "whole",
    bytes: LONG_BYTES,
    status: 413,
  },
  { name: "requests that fail with 500", behaviour: "fail", bytes: 0 },
  {
    name: "requests whose connection is closed",
    behaviour: "hang-up",
    bytes: 0,
  },
];

/** Sends requests of one token that make the upstream refuse or fail, beside the requests of other tokens. */
export async function soakPoison(
  { findings, effort }: SoakOptions,
): Promise<void> {
  await using upstream = await startUpstream("fragile_upstream");
  for (const poison of POISONS) {
    await using gateway = await startSharedGateway({
      url: upstream.url,
      tokens: ["poison", ...OTHER_TOKENS],
    });
    const over = new AbortController();
    const sending = sendUntil(over.signal, poison, gateway);
    const impact = await askOthers({
      url: gateway.program.url,
      headers: (index) =>
        gateway.headersOf(`other-${index % OTHER_TOKENS.length}`),
      count: Math.ceil(OTHERS * effort),
    });
    over.abort();
    const received = await sending;
    const statuses = [...received]
      .map(([status, count]) => `${status}: ${count}`).join(", ");
    findings.note(
      `${poison.name} of one token`,
      `${impactText(impact)}; it received ${statuses}`,
    );
    judgeImpact(poison.name, impact, findings);
    judgeStatuses(poison, received, findings);
  }
}

function judgeStatuses(
  { name, status }: Poison,
  received: ReadonlyMap<number, number>,
  findings: SoakOptions["findings"],
): void {
  const wrong = [...received.keys()].filter((one) =>
    status === undefined ? one < 500 : one !== status
  );
  if (wrong.length > 0) {
    findings.fail(`${name} received ${wrong.join(", ")}`);
  }
  if (received.size === 0) findings.fail(`No ${name} were sent`);
}

/** @returns The count of each status; 0 stands for no response. */
async function sendUntil(
  signal: AbortSignal,
  poison: Poison,
  gateway: SharedGateway,
): Promise<Map<number, number>> {
  const received = new Map<number, number>();
  let next = 0;
  await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
    while (!signal.aborted) {
      const status = await send(next++, poison, gateway);
      received.set(status, (received.get(status) ?? 0) + 1);
    }
  }));
  return received;
}

async function send(
  index: number,
  { behaviour, bytes }: Poison,
  { program, headersOf }: SharedGateway,
): Promise<number> {
  const way = WAYS[index % WAYS.length] ?? WAYS[0];
  if (way === undefined) return 0;
  const question = { tag: `p${index}`, behaviour, words: 2 };
  const prompt = promptOf(question);
  const body = bodyOf({ way, question, isStream: false });
  try {
    const answer = await fetch(program.url + PATHS[way.protocol], {
      method: "POST",
      headers: headersOf("poison"),
      body: body.replace(prompt, `${prompt} ${"x".repeat(bytes)}`),
    });
    await answer.text();
    return answer.status;
  } catch {
    return 0;
  }
}
