import assert from "node:assert/strict";
import { openAnswer } from "../../support/wire/answers.ts";
import { ask, hello, PATHS } from "../../support/wire/ask.ts";
import { tokenFile } from "../../support/gateway/config.ts";
import { familyConnection } from "../../support/gateway/families.ts";
import { startGateway } from "../../support/gateway/gateway.ts";
import { connectRaw } from "../../support/wire/raw_socket.ts";
import { rawRequest } from "../../support/wire/raw_request.ts";
import {
  type Script,
  type SeenRequest,
  startUpstream,
} from "../../support/upstream/scripted_upstream.ts";
import { until } from "../../support/within.ts";
import { protocolOfPath, WIRES } from "../../support/wire/wire.ts";

/** The number of hang-ups at each stage of each way. */
const HANG_UPS = 25;

/** From Chat Completions to an upstream with the same protocol, and to one with Messages. */
const WAYS = { native: "model-a", translated: "model-b" } as const;

/** The sent part of a request, and the received part of the answer, before the caller hangs up. */
const STAGES = {
  "in the head": { sends: "half the head", reads: false },
  "in the body": { sends: "half the body", reads: false },
  "before the upstream's headers": { sends: "all", reads: false },
  "in mid-stream": { sends: "all", reads: true },
} as const;

function partOf(
  request: string,
  part: (typeof STAGES)[keyof typeof STAGES]["sends"],
): string {
  const headEnd = request.indexOf("\r\n\r\n") + 4;
  switch (part) {
    case "half the head":
      return request.slice(0, headEnd / 2);
    case "half the body":
      return request.slice(0, (headEnd + request.length) / 2);
    case "all":
      return request;
  }
}

/** Counts the open requests at an upstream, and keeps them waiting. */
function createAccount() {
  const account = { asked: 0, open: 0 };
  const wait: Script = ({ signal }: SeenRequest) => {
    account.asked++;
    account.open++;
    return new Promise((_, reject) => {
      const leave = () => {
        account.open--;
        reject(signal.reason);
      };
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
    });
  };
  const begin: Script = ({ path }) => {
    account.asked++;
    account.open++;
    const answer = openAnswer();
    const { start, output } = WIRES[protocolOfPath(path)];
    answer.write(start + output);
    answer.cancelled.then(() => account.open--);
    return answer.response;
  };
  return { account, wait, begin };
}

Deno.test("hundreds of callers that disconnect leave nothing running, at any stage", async (t) => {
  const { account, wait, begin } = createAccount();
  await using upstream = startUpstream();
  await using gateway = await startGateway({
    connections: [
      familyConnection("A", upstream.url),
      familyConnection("B", upstream.url),
    ],
    tokens: [tokenFile()],
  });
  let logged = 0;
  for (const [way, model] of Object.entries(WAYS)) {
    const { headers, body } = ask(
      "chat",
      hello("chat", { model, stream: true }),
    );
    const request = rawRequest(
      PATHS.chat,
      Object.entries({ host: "gateway", ...headers }),
      String(body),
    );
    for (const [stage, { sends, reads }] of Object.entries(STAGES)) {
      await t.step(`${way}, ${stage}`, async () => {
        upstream.play(reads ? begin : wait);
        account.asked = 0;
        const sockets = await Promise.all(
          Array.from({ length: HANG_UPS }, () => connectRaw(gateway.port)),
        );
        for (const socket of sockets) {
          await socket.write(partOf(request, sends));
        }
        if (sends === "all") {
          await until(
            () => account.asked === HANG_UPS && account.open === HANG_UPS,
            "the upstream to be asked",
          );
        }
        if (reads) {
          await Promise.all(sockets.map((socket) => socket.readSome()));
        }
        for (const socket of sockets) socket[Symbol.dispose]();
        await until(
          () => gateway.admission.active === 0 && account.open === 0,
          "every request to end",
        );
        // Half a head is not recognised as a request.
        if (sends !== "half the head") logged += HANG_UPS;
        const { items } = gateway.lines.requests;
        await until(() => items.length === logged, "a line about each");
        assert.equal(gateway.admission.active, 0);
        if (sends !== "all") assert.equal(account.asked, 0);
      });
    }
  }
  const ended = gateway.lines.requests.items.map((line) => line.ended);
  assert.deepEqual(new Set(ended), new Set(["client_abort"]));
});
