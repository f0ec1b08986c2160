import {
  type Agent,
  ask,
  type Asked,
  type CallerScene,
  routeOf,
  type Turn,
  type Wish,
} from "./caller.ts";
import { look } from "./look.ts";

/** The statuses after which clients send a request again. */
const REPEATED = new Set([408, 409, 429, 500, 502, 503, 504, 529]);

/** A caller with a token that is not in the file. */
export const STRANGER: Agent = {
  name: "stranger",
  token: "mg_secret_of_nobody",
  models: [],
};

/** Runs one session of a person, of an agent with tools and sub-agents, of a batch, or of a hostile caller. */
export async function runSession(
  agent: Agent,
  scene: CallerScene,
): Promise<void> {
  const { random } = scene;
  const luck = random.below(20);
  const turn = {
    agent,
    session: newSession(agent, scene),
    protocol: random.pick(["chat", "messages", "responses"] as const),
    model: random.pick(agent.models),
  };
  if (luck === 0) return await runBatch(turn, scene);
  if (luck === 1) return await runHostile(turn, scene);
  // The SDKs repeat a request twice, and coding agents more often.
  const retries = random.pick([2, 2, 4, 8]);
  if (luck < 10) await runLoop(turn, retries, scene);
  else await runTurns(turn, retries, scene);
}

function newSession({ name }: Agent, { random }: CallerScene): string {
  return `session-${name}-${random.below(1e9)}`;
}

/** Sends requests with pauses, and sometimes reads `/usage`, `/limits` or `/models`. */
async function runTurns(
  turn: Turn,
  retries: number,
  scene: CallerScene,
): Promise<void> {
  const { random, time } = scene;
  const turns = 1 + random.below(8);
  for (let count = 0; count < turns; count++) {
    const isParallel = random.below(6) === 0;
    await Promise.all(Array.from(
      { length: isParallel ? 2 + random.below(4) : 1 },
      () => askUntilServed(turn, retries, scene),
    ));
    const replica = routeOf(turn.session, scene);
    if (replica !== undefined && random.below(8) === 0) {
      const path = random.pick(["limits", "usage", "models"] as const);
      await look({ agent: turn.agent, path, replica }, scene);
    }
    await time.sleep(10 + random.below(random.pick([2000, 30_000, 200_000])));
  }
}

/** Sends a request after each tool call, and sometimes starts several sub-agents at once. */
async function runLoop(
  turn: Turn,
  retries: number,
  scene: CallerScene,
): Promise<void> {
  const { random, time } = scene;
  const steps = 2 + random.below(10);
  for (let toolCalls = 0; toolCalls < steps; toolCalls++) {
    const one = await askUntilServed({ ...turn, toolCalls }, retries, scene);
    if (one.status !== 200) return;
    if (random.below(8) === 0) {
      await Promise.all(Array.from({ length: 2 + random.below(3) }, () => {
        const session = newSession(turn.agent, scene);
        const child = { ...turn, session, parent: turn.session };
        return askUntilServed(child, retries, scene);
      }));
    }
    await time.sleep(10 + random.below(random.pick([200, 3000, 20_000])));
  }
}

/** Sends many background requests, four at a time. */
async function runBatch(turn: Turn, scene: CallerScene): Promise<void> {
  const { random, time } = scene;
  let left = 10 + random.below(20);
  await Promise.all(Array.from({ length: 4 }, async () => {
    while (left-- > 0) {
      // The time on the way between a caller and the gateway.
      await time.sleep(10 + random.below(200));
      const session = newSession(turn.agent, scene);
      await askUntilServed({ ...turn, session, isBatch: true }, 8, scene);
    }
  }));
}

/** Sends invalid requests, and leaves at bad moments. */
async function runHostile(turn: Turn, scene: CallerScene): Promise<void> {
  const { random, time } = scene;
  for (let count = 0; count < 12; count++) {
    const wish = random.pick<Partial<Wish>>([
      { agent: STRANGER },
      { model: "model-of-nobody" },
      { damage: "cut" },
      { damage: "deep" },
      { damage: "wrong type" },
      { promptLength: 300_000 },
      { stops: "broken" },
      { leavesAfterMs: random.below(3) },
      { leavesAfterMs: random.below(200) },
      { leavesAfterMs: random.below(2000) },
    ]);
    const isStream = random.below(2) === 0;
    await ask({ ...turn, isStream, ...wish }, scene);
    await time.sleep(10 + random.below(500));
  }
}

async function askUntilServed(
  turn: Omit<Wish, "isStream">,
  retries: number,
  scene: CallerScene,
): Promise<Asked> {
  const isStream = scene.random.below(4) > 0;
  for (let retry = 0;; retry++) {
    const asked = await ask({ ...turn, isStream }, scene);
    const mayRepeat = asked.headers?.get("x-should-retry") !== "false";
    const isEnd = !REPEATED.has(asked.status ?? 200) || !mayRepeat;
    if (isEnd || retry === retries) return asked;
    const waitMs = 1000 * Number(asked.headers?.get("retry-after") ?? 1);
    const growingMs = Math.min(500 * 2 ** retry, 32_000);
    await scene.time.sleep(50 + (waitMs <= 60_000 ? waitMs : growingMs));
  }
}
