import assert from "node:assert/strict";
import type { Protocol } from "../../../src/base/protocol.ts";
import { sha256Hex } from "../../../src/base/sha256.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import { type ServedGateway, serveFile } from "../../support/gateway/serve.ts";
import { hasEnvoy, startEnvoy } from "../../support/program/envoy.ts";
import { freePort } from "../../support/program/free_port.ts";
import { hasNginx, startNginx } from "../../support/program/nginx.ts";
import {
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { SSE_HEADERS } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { readToEnd } from "../../support/wire/read_to_end.ts";
import { WIRES } from "../../support/wire/wire.ts";
import { until } from "../../support/within.ts";

// Three replicas under load, behind a proxy that sends each session to one of them. One replica
// dies, and returns.

const ROOT = new URL("../../../", import.meta.url);

/** The ports in the distributed files: the replicas' ports, and the proxy's own. */
const PORTS_OF_THE_FILE = [8787, 8788, 8789, 8080] as const;

/** A proxy, with the file that is distributed for it. */
interface Proxy {
  readonly name: string;
  readonly file: string;
  readonly isHere: boolean;
  readonly start: (
    config: string,
    port: number,
  ) => Promise<AsyncDisposable & { readonly url: string }>;
}

const PROXIES: readonly Proxy[] = [
  {
    name: "nginx",
    file: "packaging/nginx-sessions.conf",
    isHere: await hasNginx(),
    start: startNginx,
  },
  {
    name: "Envoy",
    file: "packaging/envoy.yaml",
    isHere: await hasEnvoy(),
    start: startEnvoy,
  },
];

/** The number of sessions of each kind of client. */
const SESSIONS_OF_A_KIND = 8;

/** The fields by which a client's sessions differ; its requests are equal otherwise. */
interface Kind {
  readonly name: string;
  readonly protocol: Protocol;
  readonly headers: (session: string) => Record<string, string>;
}

const SHARED_TOKEN = { authorization: "Bearer shared-token" };

const KINDS: readonly Kind[] = [
  ...[
    "x-claude-code-session-id",
    "session-id",
    "session_id",
    "x-session-affinity",
  ].map((header): Kind => ({
    name: header,
    protocol: "chat",
    headers: (session) => ({ ...SHARED_TOKEN, [header]: session }),
  })),
  {
    name: "authorization",
    protocol: "chat",
    headers: (session) => ({ authorization: `Bearer token-${session}` }),
  },
  {
    name: "x-api-key",
    protocol: "messages",
    headers: (session) => ({ "x-api-key": `token-${session}` }),
  },
];

const SESSION_NUMBERS = Array.from(
  { length: SESSIONS_OF_A_KIND },
  (_, at) => at,
);

/** The accepted tokens. */
const TOKENS = [
  "shared-token",
  ...SESSION_NUMBERS.map((number) => `token-${number}`),
].map((token) => tokenFile({ name: token, sha256: sha256Hex(token) }));

/** Returns a slow stream that begins with the port of the replica that requested it. */
function slowStream(seen: SeenRequest): Response {
  const [, replica = "", ...path] = seen.path.split("/");
  const protocol = path.includes("messages") ? "messages" : "chat";
  const { start, output, end } = WIRES[protocol];
  const pieces = [
    `: ${replica}\n\n${start}`,
    output,
    output,
    output,
    output,
    end,
  ];
  const body = ReadableStream.from((async function* () {
    for (const piece of pieces) {
      yield new TextEncoder().encode(piece);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  })());
  return new Response(body, { headers: SSE_HEADERS });
}

/** The outcome of one request. */
interface Outcome {
  /** The port of the replica that relayed it; `undefined` when it is unknown. */
  readonly replica: number | undefined;
  readonly kind: "whole" | "cut" | "refused";
  /** The response, if it is incomplete. */
  readonly fault: string;
}

/** A session that sends requests repeatedly. */
interface Session {
  readonly name: string;
  readonly outcomes: Outcome[];
}

async function outcomeOf(
  url: string,
  { protocol, headers, session, client }: Kind & {
    readonly session: string;
    readonly client: Deno.HttpClient;
  },
): Promise<Outcome> {
  const { method, body } = ask(protocol, hello(protocol, { stream: true }));
  const response = await fetch(url + PATHS[protocol], {
    method: method ?? "",
    body: body ?? "",
    headers: {
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
      ...headers(session),
    },
    client,
  });
  const { text, isCut } = await readToEnd(response.body);
  const [, replica] = /^: (\d+)\n/.exec(text) ?? [];
  const isWhole = !isCut && text.endsWith(WIRES[protocol].end);
  return {
    replica: replica === undefined ? undefined : Number(replica),
    kind: response.status !== 200 ? "refused" : isWhole ? "whole" : "cut",
    fault: isWhole ? "" : `${response.status} ${text}`,
  };
}

/** Sends one request after another in every session, until it is stopped. */
function startSessions(
  url: string,
  signal: AbortSignal,
): { readonly sessions: readonly Session[]; readonly ended: Promise<unknown> } {
  const runs = KINDS.flatMap((kind) =>
    SESSION_NUMBERS.map((number) => {
      const session: Session = { name: `${kind.name} ${number}`, outcomes: [] };
      const run = async () => {
        using client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
        while (!signal.aborted) {
          session.outcomes.push(
            await outcomeOf(url, { ...kind, session: `${number}`, client }),
          );
        }
      };
      return { session, ended: run() };
    })
  );
  return {
    sessions: runs.map(({ session }) => session),
    ended: Promise.all(runs.map(({ ended }) => ended)),
  };
}

/** Waits until every session has `count` more answers, and returns the earlier numbers. */
async function more(
  sessions: readonly Session[],
  count: number,
): Promise<ReadonlyMap<Session, number>> {
  const before = new Map(
    sessions.map((session) => [session, session.outcomes.length]),
  );
  await until(
    () =>
      sessions.every((session) =>
        session.outcomes.length >= (before.get(session) ?? 0) + count
      ),
    `${count} more answers in each session`,
  );
  return before;
}

/** Returns the replicas of these outcomes. */
function replicasOf(outcomes: readonly Outcome[]): readonly unknown[] {
  return [...new Set(outcomes.map(({ replica }) => replica))];
}

function isWhole({ kind }: Outcome): boolean {
  return kind === "whole";
}

for (const { name, file, isHere, start } of PROXIES) {
  const title =
    `behind the ${name} file that is handed out, the death of one replica of three costs the streams that it was sending and nothing else`;
  Deno.test({
    name: isHere ? title : `${title} (ignored: there is no ${name} here)`,
    ignore: !isHere,
    async fn() {
      await using upstream = startUpstream(slowStream);
      const ports = new Map(
        PORTS_OF_THE_FILE.map((port) => [port, freePort()]),
      );
      const serve = (port: number) =>
        serveFile(familiesFile(`${upstream.url}/${port}`, {
          server: { port },
          tokens: TOKENS,
        }));
      const proxyPort = ports.get(8080) ?? assert.fail();
      const replicas = new Map<number, ServedGateway>();
      for (const [inFile, port] of ports) {
        if (inFile !== 8080) replicas.set(port, await serve(port));
      }
      const config = (await Deno.readTextFile(new URL(file, ROOT)))
        .replace("0.0.0.0", "127.0.0.1")
        .replace(
          /\b(8787|8788|8789|8080)\b/g,
          (port) =>
            `${
              ports.get(
                PORTS_OF_THE_FILE.find((one) => `${one}` === port) ?? 8080,
              )
            }`,
        );
      await using proxy = await start(config, proxyPort);
      const over = new AbortController();
      const { sessions, ended } = startSessions(proxy.url, over.signal);
      try {
        await Promise.race([ended, more(sessions, 3)]);
        const homes = new Map(sessions.map((session) => {
          const [home, ...others] = replicasOf(session.outcomes);
          assert.ok(typeof home === "number", session.name);
          assert.deepEqual(others, [], session.name);
          return [session, home];
        }));
        assert.equal(new Set(homes.values()).size, 3, "each replica has some");

        const dying = homes.values().next().value ?? assert.fail();
        const killed = replicas.get(dying) ?? assert.fail();
        killed.kill("SIGKILL");
        await killed.ended;
        await Promise.race([ended, more(sessions, 4)]);

        const young = await serve(dying);
        replicas.set(dying, young);
        await killed[Symbol.asyncDispose]();
        await Promise.race([ended, more(sessions, 3)]);
        over.abort();
        await ended;

        const losses = sessions.map(({ outcomes }) =>
          outcomes.filter((one) => !isWhole(one))
        );
        for (const [index, session] of sessions.entries()) {
          const { name, outcomes } = session;
          const lost = losses[index] ?? [];
          if (homes.get(session) !== dying) {
            assert.deepEqual(lost, [], name);
            assert.deepEqual(replicasOf(outcomes), [homes.get(session)], name);
            continue;
          }
          // A session runs one stream at a time.
          assert.ok(lost.length <= 1, `${name}: ${JSON.stringify(lost)}`);
          for (const { kind, fault } of lost) assert.equal(kind, "cut", fault);
          const [home, other, back, ...more] = journey(outcomes);
          assert.deepEqual([home, back, more], [dying, dying, []], name);
          assert.notEqual(other, dying, name);
        }
        const cut = losses.flat();
        assert.ok(cut.length > 0, "nothing ran when the replica died");
      } finally {
        over.abort();
        for (const replica of replicas.values()) {
          await replica[Symbol.asyncDispose]();
        }
      }
    },
  });
}

/** Returns the replicas in the order in which they relayed, with each change once. */
function journey(outcomes: readonly Outcome[]): readonly unknown[] {
  return outcomes.map(({ replica }) => replica)
    .filter((replica, index, all) => replica !== all[index - 1]);
}
