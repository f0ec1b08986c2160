import assert from "node:assert/strict";
import { tokenFile } from "../../support/gateway/config.ts";
import { familiesFile } from "../../support/gateway/families.ts";
import {
  askOnce,
  type ServedGateway,
  serveFile,
} from "../../support/gateway/serve.ts";
import { testNeeding } from "../../support/ignored.ts";
import {
  startStoreServer,
  storeProgram,
  type StoreServer,
} from "../../support/program/store_server.ts";
import { startUpstream } from "../../support/upstream/scripted_upstream.ts";
import { until } from "../../support/within.ts";
import { ask, PATHS } from "../../support/wire/ask.ts";
import { WIRES } from "../../support/wire/wire.ts";

/** The number of connections that reach all of four threads, except once in ten thousand times. */
const CONNECTIONS = 40;

/** Gateways that share their counts. */
interface Scene {
  readonly name: string;
  readonly replicas: number;
  readonly workers: number;
  readonly hasStore: boolean;
}

/** Without threads, tests/simulation checks the same for one gateway, for replicas, and after a restart. */
const SCENES: readonly Scene[] = [
  { name: "four threads", replicas: 1, workers: 4, hasStore: false },
  { name: "two replicas of threads", replicas: 2, workers: 2, hasStore: true },
];

type Limits = readonly Record<string, unknown>[];

/** Starts the gateways of a scene. */
function open(
  { replicas, workers, hasStore }: Scene,
  { store, upstreamUrl }: {
    readonly store: StoreServer | undefined;
    readonly upstreamUrl: string;
  },
) {
  const fileWith = (limits: Limits) =>
    familiesFile(upstreamUrl, {
      server: { port: 0, workers },
      ...(hasStore ? { shared: { url: store?.url } } : {}),
      tokens: [tokenFile({ limits })],
    });
  const gateways: ServedGateway[] = [];

  async function start(limits: Limits): Promise<void> {
    for (let count = 0; count < replicas; count++) {
      gateways.push(await serveFile(fileWith(limits)));
    }
    for (const { url } of hasStore ? gateways : []) {
      await until(
        async () =>
          (await askOnce(`${url}/readyz`)).text.includes(`"connected"`),
        "the store",
      );
    }
  }

  async function reload(limits: Limits): Promise<void> {
    for (const gateway of gateways) {
      const before = gateway.lines("config_applied").length;
      await gateway.rewrite(fileWith(limits));
      gateway.kill("SIGHUP");
      await until(
        () => gateway.lines("config_applied").length > before,
        "the reload",
      );
    }
    // A thread takes the configuration in its next turn.
    await until(async () => {
      const reports = await usages();
      return reports.every((report) => report.limits.length === limits.length);
    }, "every thread to have the limits");
  }

  const urls = () =>
    Array.from(
      { length: CONNECTIONS },
      (_, index) => gateways[index % gateways.length]?.url ?? "",
    );
  const { headers = {} } = ask("chat");

  function usages(): Promise<
    readonly { limits: readonly { used: number }[] }[]
  > {
    return Promise.all(
      urls().map(async (url) => {
        const { text } = await askOnce(`${url}/v1/usage`, { headers });
        return JSON.parse(text);
      }),
    );
  }

  return {
    start,
    configure: reload,
    /** Waits until every thread reports this usage. With a store, a busy machine may delay it. */
    async expectUsed(wanted: number): Promise<void> {
      const read = async () =>
        (await usages()).map(({ limits: [limit] }) => limit?.used);
      const isRight = (used: number | undefined) => used === wanted;
      if (hasStore) {
        await until(async () => (await read()).every(isRight), "the sum");
      } else assert.deepEqual(new Set(await read()), new Set([wanted]));
    },
    /** Sends requests over new connections and returns their statuses. */
    async ask(count: number): Promise<readonly number[]> {
      const statuses: number[] = [];
      for (const url of urls().slice(0, count)) {
        statuses.push((await askOnce(url + PATHS.chat, ask("chat"))).status);
      }
      return statuses;
    },
    near: () => gateways.flatMap((one) => one.lines("limit_near")),
    async close() {
      for (const gateway of gateways) {
        await gateway[Symbol.asyncDispose]();
      }
    },
  };
}

for (const scene of SCENES) {
  testNeeding(
    `a new limit, one whose window has begun, and one that was put back know what was counted: ${scene.name}`,
    [
      scene.hasStore && storeProgram === undefined &&
      "there is no Valkey or Redis here",
      scene.workers > 1 && Deno.build.os !== "linux" &&
      "only Linux deals connections out to threads",
    ],
    async (t) => {
      await using upstream = startUpstream(() =>
        Response.json(WIRES.chat.answer)
      );
      const store = scene.hasStore ? await startStoreServer() : undefined;
      const gateways = open(scene, { store, upstreamUrl: upstream.url });
      const limits = [{ window: "month", requests: 20 }];
      try {
        await gateways.start([]);
        assert.deepEqual(new Set(await gateways.ask(19)), new Set([200]));

        await t.step("a new limit", async () => {
          await gateways.configure(limits);
          await gateways.expectUsed(19);
          assert.deepEqual(await gateways.ask(1), [200]);
          // If a busy machine delays the store's reply, the gateway decides by its own counts.
          await gateways.expectUsed(20);
          assert.deepEqual(
            new Set(await gateways.ask(CONNECTIONS)),
            new Set([429]),
          );
        });

        await t.step("a limit that was removed and restored", async () => {
          await gateways.configure([]);
          assert.deepEqual(new Set(await gateways.ask(5)), new Set([200]));
          await gateways.configure(limits);
          await gateways.expectUsed(25);
          assert.deepEqual(
            new Set(await gateways.ask(CONNECTIONS)),
            new Set([429]),
          );
        });

        await t.step("a nearly used limit is reported once", async () => {
          await until(() => gateways.near().length > 0, "the line");
          assert.equal(gateways.near().length, 1);
        });
      } finally {
        await gateways.close();
        await store?.[Symbol.asyncDispose]();
      }
    },
  );
}
