import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/base/json.ts";
import type { Protocol } from "../../../../src/base/protocol.ts";
import {
  connectionTo,
  openScene,
  type Scene,
} from "../../../support/gateway/failover_scene.ts";
import {
  type ClientRequest,
  loadClientRequests,
} from "../../../support/recorded/recordings.ts";
import { testNeeding } from "../../../support/ignored.ts";
import {
  type CachingProvider,
  createCachingProvider,
} from "../../../support/upstream/caching_provider.ts";

/** A recorded session: the requests of one run of a client. */
interface Session {
  readonly name: string;
  readonly protocol: Protocol;
  readonly requests: readonly ClientRequest[];
}

/** Returns the recorded runs of the coding agents that have several turns. */
function sessions(): readonly Session[] {
  const paths: readonly (readonly [Protocol, RegExp])[] = [
    ["messages", /\/messages$/],
    ["responses", /\/responses$/],
  ];
  return paths.flatMap(([protocol, path]) => {
    const requests = loadClientRequests(path)
      .filter(({ name }) => /^(?:claude-code|codex) /.test(name));
    const runs = Map.groupBy(
      requests,
      ({ name }) => name.split(" ").slice(0, -1).join(" "),
    );
    return [...runs].map(([name, some]) => ({ name, protocol, requests: some }))
      .filter(({ requests }) => requests.length > 1);
  });
}

/** Pads the texts that the recorder shortened to their original length. */
function atFullLength(body: JsonObject): JsonObject {
  const text = JSON.stringify({ ...body, model: "model-1", stream: false })
    .replace(/…\[(\d+) chars\]/g, (_, length) => "x".repeat(Number(length)));
  return JSON.parse(text);
}

/** The headers that name a session or an agent. */
const ID_REGEXP = /session|agent-id|thread-id/;

async function ask(
  scene: Scene,
  protocol: Protocol,
  { headers, request: body }: ClientRequest,
): Promise<JsonObject> {
  scene.timers.advance(20_000);
  const request = scene.request(protocol, atFullLength(body));
  for (const [name, value] of Object.entries(headers)) {
    if (ID_REGEXP.test(name)) request.headers.set(name, value);
  }
  const response = await scene.pass(scene.gateway.handler(request));
  await scene.pass(response.text());
  return await scene.lines.of(response);
}

/** Events before a turn, with the reason that the log names when the client changed nothing. */
const EVENTS: Readonly<
  Record<
    string,
    {
      readonly before: (scene: Scene, provider: CachingProvider) => void;
      readonly why?: string;
    }
  >
> = {
  nothing: { before: () => {} },
  "a pause": { before: (scene) => scene.timers.advance(400_000), why: "idle" },
  "a provider that forgets": {
    before: (_, provider) => provider.forget(),
    why: "provider",
  },
};

/** Runs whose second request has another prompt: a helper's, a compaction's, or one with other tools or settings. */
const CHANGING: ReadonlySet<string> = new Set([
  "claude-code conv3",
  "claude-code toolsearch",
  "claude-code websearch",
  "codex compact",
  "codex oai-compact",
]);

const RUNS = sessions();

testNeeding(
  "the log names the true cause of cache misses in recorded sessions of Claude Code and Codex, in every mode",
  RUNS.length === 0 && "there are no recordings here",
  async (t) => {
    for (const mode of ["native", "translated"] as const) {
      for (const [event, { before, why }] of Object.entries(EVENTS)) {
        await t.step(`${mode}, ${event}`, async () => {
          for (const { name, protocol, requests } of RUNS) {
            const provider = createCachingProvider();
            const scene = await openScene(
              [connectionTo("first", { protocol, mode })],
              { first: [provider.act] },
            );
            const [first, second] = requests;
            if (first === undefined || second === undefined) continue;
            // The gateway knows a cache without reported writes only after a read from it.
            await ask(scene, protocol, first);
            const known = await ask(scene, protocol, first);
            assert.equal(known.cache_miss, undefined, name);
            before(scene, provider);
            const line = await ask(scene, protocol, second);
            const found = line.cache_miss;
            // Some clients change their prompt here, or begin another one.
            const isChanged = found === "edited" || found === undefined;
            assert.ok(
              found === why || CHANGING.has(name) && isChanged,
              `${name}: ${found} at ${line.cache_miss_at}`,
            );
          }
        });
      }
    }
  },
);
