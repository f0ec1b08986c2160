import { connect, pause, requestText, write } from "./ask.ts";
import { sizeText } from "./findings.ts";
import { hasProc, type Scene, type Way } from "./scene.ts";
import type { SoakOptions } from "./soak_options.ts";

/** How many clients are slow at a time. */
const CLIENTS = 1_000;

/** How many of them begin at a time. */
const AT_A_TIME = 50;

/** How long they read nothing, in milliseconds. */
const SILENT_MS = 8_000;

/** What one may cost. */
const MAX_BYTES = 100 * 1024;

const SLOW_WAYS: Readonly<Record<string, Way>> = {
  native: { protocol: "chat", upstream: "chat", model: "all" },
  translated: { protocol: "chat", upstream: "messages", model: "b" },
};

/** Streams that come as fast as they are taken, to clients that take nothing. */
export async function soakSlowClients(
  { scene, findings }: SoakOptions,
): Promise<void> {
  for (const [name, way] of Object.entries(SLOW_WAYS)) {
    await openStreams(way, "begin", scene).then(closeAll);
    await openStreams(way, "flood", scene, 100).then(closeAll);
    await pause(1_000);
    const before = await scene.use();
    const slow = await openStreams(way, "flood", scene);
    await pause(SILENT_MS);
    const during = await scene.use();
    const running = await scene.inFlight();
    if (running !== CLIENTS) {
      findings.fail(`${running} of ${CLIENTS} slow streams run`);
    }
    await readOn(slow);
    const reading = await scene.use();
    closeAll(slow);
    if (!hasProc) continue;
    const each = (during.residentBytes - before.residentBytes) / CLIENTS;
    const eachReading = (reading.residentBytes - before.residentBytes) /
      CLIENTS;
    findings.note(
      `${CLIENTS} slow ${name} streams`,
      `${sizeText(each)} each while nothing is read, ${
        sizeText(eachReading)
      } after some was`,
    );
    if (Math.max(each, eachReading) > MAX_BYTES) {
      findings.fail(`A slow ${name} stream costs ${sizeText(each)}`);
    }
  }
}

async function openStreams(
  way: Way,
  manner: "begin" | "flood",
  scene: Scene,
  clients = CLIENTS,
): Promise<Deno.TcpConn[]> {
  const slow: Deno.TcpConn[] = [];
  let next = 0;
  await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
    while (next < clients) {
      const question = { tag: `s${next++}`, manner, words: 2 };
      const connection = await connect(scene);
      slow.push(connection);
      const asking = { way, question, isStream: true };
      await write(connection, requestText(asking, scene));
      await connection.read(new Uint8Array(1_024));
    }
  }));
  return slow;
}

/** Lets each client read a little, several times. */
async function readOn(slow: readonly Deno.TcpConn[]): Promise<void> {
  const buffer = new Uint8Array(4_096);
  for (let round = 0; round < 4; round++) {
    await Promise.all(slow.map((connection) => connection.read(buffer)));
    await pause(250);
  }
}

function closeAll(connections: readonly Deno.TcpConn[]): void {
  for (const connection of connections) connection.close();
}
