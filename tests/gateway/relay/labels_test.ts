import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/base/json.ts";
import type { Protocol } from "../../../src/base/protocol.ts";
import {
  connectionTo,
  type Mode,
  openScene,
} from "../../support/gateway/failover_scene.ts";
import {
  type Act,
  type Asked,
  good,
} from "../../support/upstream/bad_provider.ts";
import { piecewise } from "../../support/wire/answers.ts";
import { PROTOCOLS } from "../../support/wire/ask.ts";
import { type Wire, WIRES, WORDS } from "../../support/wire/wire.ts";

// The first bytes of an answer decide about its format, whatever its content type is.

/** The formats of a body, each with its content type. */
const TYPES = {
  events: "text/event-stream",
  json: "application/json; charset=utf-8",
} as const;

type Kind = keyof typeof TYPES;

function bodyOf({ start, output, end, answer }: Wire, kind: Kind): string {
  return kind === "events" ? start + output + end : JSON.stringify(answer);
}

/**
 * Returns acts that answer with a wrong content type: in chunks, after a line break, and with `content-length`.
 *
 * @param isWhole True if the test's clock must stand still between the chunks.
 */
function labelled(
  bodyOf: (wire: Wire) => string,
  type: string,
  { isWhole = false } = {},
): Act[] {
  return [
    ({ wire, onPiece }) =>
      piecewise(
        [...bodyOf(wire)],
        { "content-type": type },
        isWhole ? onPiece : undefined,
      ),
    ({ wire }) => piecewise(["\r\n", bodyOf(wire)], { "content-type": type }),
    ({ wire }) => {
      const text = bodyOf(wire);
      const length = String(new TextEncoder().encode(text).length);
      return new Response(text, {
        headers: { "content-type": type, "content-length": length },
      });
    },
  ];
}

/** A caller's protocol, mode and format. */
interface Way {
  readonly protocol: Protocol;
  readonly mode: Mode;
  readonly stream: boolean;
}

const WAYS: readonly Way[] = PROTOCOLS.flatMap((protocol) =>
  (["native", "translated"] as const).flatMap((mode) =>
    [true, false].map((stream) => ({ protocol, mode, stream }))
  )
);

function nameOf({ protocol, mode, stream }: Way): string {
  return `${protocol} ${mode} ${stream ? "stream" : "JSON"}`;
}

/** Sends a request to a provider with each act, with and without another connection. */
async function* answers(way: Way, acts: readonly Act[]) {
  for (const act of acts) {
    for (const names of [["one"], ["one", "two"]]) {
      const scene = await openScene(
        names.map((name) => connectionTo(name, way)),
        { one: [act], two: [good] },
      );
      const answer = await scene.ask(way.protocol, { stream: way.stream });
      yield { answer, hosts: scene.providers.hosts(), hasOther: !!names[1] };
    }
  }
}

for (const kind of ["events", "json"] as const) {
  const type = TYPES[kind === "json" ? "events" : "json"];

  Deno.test(`${kind} with the content type ${type} are a complete answer after one attempt`, async (t) => {
    for (const way of WAYS) {
      await t.step(nameOf(way), async () => {
        const acts = labelled((wire) => bodyOf(wire, kind), type, {
          isWhole: true,
        });
        for await (const { answer, hosts } of answers(way, acts)) {
          assert.deepEqual(hosts, ["one"], answer.text);
          assert.equal(answer.status, 200, answer.text);
          assert.ok(!answer.broken);
          assert.equal(answer.line.ended, "complete");
          assert.deepEqual(countsIn(answer.line), [3, 2]);
          if (way.mode === "native") {
            assert.equal(answer.headers.get("content-type"), type);
            const sent = bodyOf(WIRES[way.protocol], kind);
            assert.equal(answer.text.trimStart(), sent);
          } else assertAsAsked(answer.text, way);
        }
      });
    }
  });
}

Deno.test("a stream that is labelled as JSON and cut off is an incomplete answer", async (t) => {
  for (const way of WAYS) {
    await t.step(nameOf(way), async () => {
      const acts = labelled(({ start, output }) => start + output, TYPES.json);
      for await (const { answer, hasOther } of answers(way, acts)) {
        if (hasOther) continue;
        assert.notEqual(answer.line.ended, "complete", answer.text);
      }
    });
  }
});

Deno.test("JSON that is labelled as a stream and cut off is an incomplete answer", async (t) => {
  for (const way of WAYS) {
    await t.step(nameOf(way), async () => {
      const acts = labelled(
        ({ answer }) => JSON.stringify(answer).slice(0, -2),
        TYPES.events,
      );
      for await (const { answer, hasOther } of answers(way, acts)) {
        if (hasOther) continue;
        assert.notEqual(answer.line.ended, "complete", answer.text);
      }
    });
  }
});

Deno.test("a failure with the wrong content type leads to the next connection", async (t) => {
  // White space is forwarded at once, so that the caller of a slow model sees progress.
  const failures: readonly Act[] = [
    ...labelled(({ start, failure }) => start + failure, TYPES.json)
      .filter((_, index) => index !== 1),
    ...labelled(
      ({ error }) => JSON.stringify(error("overloaded_error", "Overloaded")),
      TYPES.events,
    ),
  ];
  for (const way of WAYS) {
    await t.step(nameOf(way), async () => {
      for await (const { answer, hosts, hasOther } of answers(way, failures)) {
        if (!hasOther) continue;
        assert.equal(hosts.at(-1), "two");
        assert.ok(answer.text.includes(WORDS), answer.text);
      }
    });
  }
});

Deno.test("a stream that is labelled as JSON reaches the caller as it arrives", async () => {
  for (const mode of ["native", "translated"] as const) {
    const open = Promise.withResolvers<void>();
    const way = { protocol: "chat", mode } as const;
    const act = ({ wire: { start, output, end } }: Asked) =>
      new Response(
        new ReadableStream<Uint8Array>({
          async pull(controller) {
            const encoder = new TextEncoder();
            controller.enqueue(encoder.encode(start + output));
            await open.promise;
            controller.enqueue(encoder.encode(end));
            controller.close();
          },
        }),
        { headers: { "content-type": TYPES.json } },
      );
    const scene = await openScene([connectionTo("one", way)], { one: [act] });
    const request = scene.request("chat", { stream: true });
    const answer = await scene.pass(scene.gateway.handler(request));
    const reader = answer.body?.getReader();
    let text = "";
    while (!text.includes(WORDS)) {
      const { value } = await reader?.read() ?? {};
      text += new TextDecoder().decode(value);
    }
    open.resolve();
    while (!(await reader?.read())?.done);
  }
});

/** Returns the input and output tokens of a log line. */
function countsIn({ usage }: JsonObject): unknown[] {
  const counts: JsonObject = JSON.parse(JSON.stringify(usage ?? {}));
  return [counts.input_tokens, counts.output_tokens];
}

function assertAsAsked(text: string, { protocol, stream }: Way): void {
  assert.ok(text.includes(WORDS), text);
  if (!stream) {
    assert.ok(JSON.parse(text));
    return;
  }
  const end = {
    chat: "[DONE]",
    messages: "message_stop",
    responses: ".completed",
  };
  assert.ok(text.includes(end[protocol]), text);
}
