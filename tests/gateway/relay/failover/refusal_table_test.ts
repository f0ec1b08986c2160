import assert from "node:assert/strict";
import { SERVICE_NAMES } from "../../../../src/services/services.ts";
import { withWait } from "../../../../src/gateway/relay/answer_failure.ts";
import { CODECS } from "../../../../src/codecs/codecs.ts";
import { NOW_MS } from "../../../support/gateway/config.ts";
import {
  connectionTo,
  openScene,
} from "../../../support/gateway/failover_scene.ts";
import {
  type FailureForm,
  FORMS,
  rowOf,
  TABLE_TEXT,
} from "../../../support/dialects/failure_table.ts";
import { good } from "../../../support/upstream/bad_provider.ts";
import { SSE_HEADERS } from "../../../support/wire/answers.ts";
import { PROTOCOLS } from "../../../support/wire/ask.ts";

Deno.test("the table of refusals lists each service with a preset, and counts the sources correctly", () => {
  for (const service of SERVICE_NAMES) {
    if (service !== "custom") assert.ok(rowOf(service), service);
  }
  const counts = { body: 0, code: 0, unsourced: 0 };
  for (const { service, column, source, checked, unsourced } of FORMS) {
    const name = `${service}: ${column}`;
    if (unsourced === undefined) {
      assert.match(source ?? "", /^(https:\/\/|\.\.\/)/, name);
      assert.ok(checked, name);
    } else {
      assert.equal(source ?? checked, undefined, name);
    }
    counts[checked ?? "unsourced"] += 1;
  }
  const { body, code, unsourced } = counts;
  const [comment = ""] = TABLE_TEXT.split(/\n(?!#)/, 1);
  assert.ok(
    comment.replaceAll("\n# ", " ").endsWith(
      `Of ${FORMS.length} errors, ${body} are checked: body, ${code} are checked: code, and ${unsourced} are unsourced.`,
    ),
    JSON.stringify(counts),
  );
});

for (const form of FORMS) {
  const { service, column, status, body, waitMs, isInside } = form;
  Deno.test(`${service}: ${column} is decoded to the failure of its column, in every protocol`, () => {
    for (const protocol of PROTOCOLS) {
      const failure = CODECS[protocol].decodeFailure(status, body);
      const { kind, retryAfterMs } = withWait(failure, NOW_MS);
      assert.ok(isIn(kind, form), `${protocol}: ${kind}`);
      if (form.headers["retry-after"] === undefined) {
        assert.equal(retryAfterMs, waitMs, protocol);
      }
      if (!isInside) continue;
      const inside = CODECS[protocol].decodeFailure(200, body);
      assert.ok(isIn(inside.kind, form), `${protocol}, inside: ${inside.kind}`);
    }
  });

  Deno.test(`${service}: ${column} gets the attempts and the error of its column, natively and translated`, async (t) => {
    for (const mode of ["native", "translated"] as const) {
      await t.step(mode, () => checkRemedy(form, mode));
      if (!isInside) continue;
      await t.step(`${mode}, in a stream`, () => checkRemedy(form, mode, true));
    }
  });
}

function isIn(kind: string, { kinds }: FailureForm): boolean {
  return kinds.some((one) => one === kind);
}

Deno.test("a 200 with only an error code and a message counts as an error, natively and translated", async () => {
  for (const mode of ["native", "translated"] as const) {
    const to = { protocol: "chat", mode } as const;
    const scene = await openScene(
      [connectionTo("one", to), connectionTo("two", to)],
      {
        one: [() => Response.json({ code: 1113, msg: "余额不足" })],
        two: [good],
      },
    );
    const { status, line } = await scene.ask("chat");
    assert.equal(status, 200, mode);
    assert.equal(line.connection, "two", mode);
  }
});

Deno.test("a translated limit error has the protocol's status for limits, whatever the provider's status was", async () => {
  const body = { error: { message: "Insufficient balance", type: "x" } };
  const expected = { chat: 429, messages: 402, responses: 429 } as const;
  for (const protocol of PROTOCOLS) {
    for (const status of [400, 403]) {
      const scene = await openScene(
        [connectionTo("one", { protocol, mode: "translated" })],
        { one: [() => Response.json(body, { status })] },
      );
      const one = await scene.ask(protocol);
      assert.equal(one.status, expected[protocol]);
      assert.equal(one.headers.get("x-should-retry"), "false");
      assert.match(one.text, /Insufficient balance/);
    }
  }
});

/** The waits after which one connection gets the same request again, in milliseconds. */
const REPEATED_MS = 5000;
const LONG_MS = 60_000;

/** Checks the attempts, the status and the advice that a caller of Chat gets. */
async function checkRemedy(
  { column, status, body, headers, kinds, waitMs }: FailureForm,
  mode: "native" | "translated",
  isInStream = false,
): Promise<void> {
  const refuse = () => {
    const outer = Array.isArray(body) ? body[0] ?? null : body;
    if (isInStream) {
      return new Response(`data: ${JSON.stringify(outer)}\n\n`, {
        headers: SSE_HEADERS,
      });
    }
    return typeof body === "string"
      ? new Response(body, { status, headers })
      : Response.json(body, { status, headers });
  };
  const to = { protocol: "chat", mode } as const;
  const isRepeated = waitMs !== undefined && waitMs <= REPEATED_MS;
  const scene = await openScene(
    [connectionTo("one", to), connectionTo("two", to)],
    { one: isRepeated ? [refuse, good] : [refuse], two: [good] },
  );
  const first = await scene.ask("chat", { stream: isInStream });
  const isOfRequest = column === "too_large" && status !== 429;
  if (isOfRequest) assert.notEqual(first.status, 200);
  else assert.equal(first.status, 200, first.text);
  const alone = await openScene([connectionTo("one", to)], {
    one: [refuse],
  });
  const one = await alone.ask("chat", { stream: isInStream });
  const isFinal = one.headers.get("x-should-retry") === "false";
  const { length } = alone.providers.asked;
  const isLong = (waitMs ?? 0) >= LONG_MS;
  if (kinds.includes("quota") || isLong) {
    assert.equal(length, 1, "a limit that lasts is not tried again");
    if (!isInStream) assert.ok(isFinal, "its error is final");
    if (isLong && !isInStream) {
      const seconds = Math.min(300, (waitMs ?? 0) / 1000);
      assert.equal(one.headers.get("retry-after"), `${seconds}`);
    }
  } else if (kinds.includes("rate_limited")) {
    assert.equal(isFinal, false, "it may be repeated");
    // A native stream is not held back when no other connection could serve it.
    const isOnce = mode === "native" && isInStream ||
      (waitMs ?? 0) > REPEATED_MS;
    assert.equal(length, isOnce ? 1 : 3, "it is repeated after a moment");
  } else if (column !== "too_large") {
    assert.equal(one.status, 502);
    assert.equal(length, 1);
  } else {
    assert.equal(
      length,
      1,
      "a request that is refused for itself is sent once",
    );
    assert.ok(one.status < 500);
  }
}
