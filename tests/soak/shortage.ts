import { until, within } from "../support/within.ts";
import { connect, pause, requestText } from "./ask.ts";
import { say } from "../support/upstream/raw_upstream.ts";
import { askOthers, judgeImpact } from "./others.ts";
import { hasProc, NATIVE, startUpstream, useOf } from "./scene.ts";
import { type SharedGateway, startSharedGateway } from "./shared_gateway.ts";
import type { SoakOptions } from "./soak_options.ts";

/** The gateway's descriptors: too few for the streams, each of which takes two. */
const MAX_DESCRIPTORS = 140;
const STREAMS = 160;

/** The time for which the streams run, in milliseconds. */
const HELD_MS = 1_000;

const ROUNDS = 6;

/**
 * The number of callers after the shortage, and of their later requests. None may fail, and they must not exhaust the
 * descriptors themselves.
 */
const CALLERS = 10;
const OTHERS = 20;

/** The most descriptors that a round may leave open: idle connections. */
const MAX_LEFT = 30;

/** Makes the gateway run out of descriptors repeatedly. A healthy provider must not cool down. */
export async function soakShortage(
  { findings, effort }: SoakOptions,
): Promise<void> {
  await using upstream = await startUpstream("upstream");
  await using gateway = await startSharedGateway({
    url: upstream.url,
    tokens: ["burden", "other"],
    maxDescriptors: MAX_DESCRIPTORS,
  });
  const before = await useOf(gateway.program.pid);
  const statuses = new Map<string, number>();
  const others = {
    url: gateway.program.url,
    headers: () => gateway.headersOf("other"),
  };
  for (let round = 0; round < Math.ceil(ROUNDS * effort); round++) {
    const streams = await Promise.all(
      Array.from(
        { length: STREAMS },
        (_, index) => openStream(`s${round}x${index}`, gateway),
      ),
    );
    await pause(HELD_MS);
    for (const { status, connection } of streams) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      connection?.close();
    }
    await until(async () => {
      // New callers are refused until the gateway listens again.
      const { refused } = await askOthers({ ...others, count: CALLERS });
      if (refused.some(isCooling)) findings.fail(COOLED);
      return refused.length === 0;
    }, "the gateway to serve again");
    const impact = await askOthers({ ...others, count: OTHERS });
    // A kept connection to a listener that was lost may close under a request, without an answer.
    const refused = impact.refused.filter((one) => /^\d/.test(one));
    judgeImpact("shortages", { ...impact, refused }, findings);
  }
  const after = await useOf(gateway.program.pid);
  findings.note(
    `${STREAMS} streams with ${MAX_DESCRIPTORS} descriptors`,
    `${
      [...statuses].map(([status, count]) => `${status}: ${count}`).join(", ")
    }; ${before.descriptors} descriptors before, ${after.descriptors} after`,
  );
  for (const status of statuses.keys()) {
    if (!EXPECTED.has(status)) {
      findings.fail(`A shortage of descriptors made ${status} of a request`);
    }
  }
  if (!statuses.has("503")) findings.fail("No request met the shortage");
  if (hasProc && after.descriptors > before.descriptors + MAX_LEFT) {
    findings.fail("A shortage of descriptors leaves descriptors open");
  }
}

const COOLED = "A shortage of descriptors made a healthy provider cool down";

function isCooling(answer: string): boolean {
  return answer.includes("connection_cooling_down");
}

const EXPECTED: ReadonlySet<string> = new Set(["200", "503", "no connection"]);

/** Requests a stream without an end, and reads the status of the answer. */
async function openStream(
  tag: string,
  gateway: SharedGateway,
): Promise<{ readonly status: string; readonly connection?: Deno.Conn }> {
  const question = { tag, behaviour: "trickle", words: 2 } as const;
  const headers = gateway.headersOf("burden");
  const text = requestText({ way: NATIVE, question, isStream: true }, {
    headers,
  });
  let connection: Deno.Conn | undefined;
  try {
    connection = await connect(gateway);
    await say(connection, text);
    const bytes = new Uint8Array(4096);
    const size = await within(connection.read(bytes), "the answer");
    if (size === null) return { status: "no connection", connection };
    const answer = new TextDecoder().decode(bytes.subarray(0, size));
    const status = isCooling(answer) ? "a cool-down" : answer.slice(9, 12);
    return { status, connection };
  } catch {
    // The gateway could not accept the connection, or gave it up.
    return connection === undefined
      ? { status: "no connection" }
      : { status: "no connection", connection };
  }
}
