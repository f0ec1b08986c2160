import assert from "node:assert/strict";
import {
  isWrapped,
  maySend,
  type Sealed,
  unwrapSealed,
  unwrapShown,
  wrapSealed,
} from "../../../../src/codecs/canonical/content/sealed.ts";

const SEALED: Sealed = {
  protocol: "messages",
  form: "signature",
  value: "Ünï+/==",
  id: "rs_1",
  origin: "connection-1",
};

Deno.test("unwrapSealed() undoes wrapSealed()", () => {
  assert.deepEqual(unwrapSealed(wrapSealed(SEALED)), SEALED);
});

Deno.test("an envelope contains the binding of reasoning, and its readable part", () => {
  const bounds = [{ prefix: "p", after: "a" }, { prefix: "p" }];
  for (const bound of bounds) {
    const { bound: found } = unwrapSealed(wrapSealed({ ...SEALED, bound })) ??
      {};
    assert.deepEqual({ ...found }, { after: undefined, ...bound });
  }
  const shown = {
    position: 1,
    parts: [{ form: "raw", text: "Ünï\ud800" }, { form: "summary", text: "" }],
  } as const;
  const envelope = wrapSealed(SEALED, shown);
  assert.deepEqual(unwrapShown(envelope), shown);
  assert.deepEqual(unwrapSealed(envelope), SEALED);
  assert.equal(unwrapShown(wrapSealed(SEALED)), undefined);
  assert.equal(unwrapShown("no envelope"), undefined);
});

Deno.test("a binding or a readable part of a wrong form is ignored in an envelope", () => {
  const envelope = (content: unknown) => `mg1.${btoa(JSON.stringify(content))}`;
  const { protocol, form } = SEALED;
  const value = "s";
  for (const bound of [7, null, {}, { prefix: 1 }, { after: "a" }]) {
    const sealed = unwrapSealed(envelope({ protocol, form, value, bound }));
    assert.equal(sealed?.bound, undefined);
    assert.equal(sealed?.value, value);
  }
  for (const shown of [7, {}, { position: "0", parts: [] }, { position: 0 }]) {
    assert.equal(unwrapShown(envelope({ shown })), undefined);
  }
  const parts = [7, { form: "other", text: "a" }, { form: "raw" }];
  assert.deepEqual(unwrapShown(envelope({ shown: { position: 0, parts } })), {
    position: 0,
    parts: [],
  });
});

Deno.test("wrapSealed() writes only characters that every field accepts", () => {
  assert.match(wrapSealed(SEALED), /^mg1\.[A-Za-z0-9_-]+$/);
});

Deno.test("wrapSealed() makes an empty envelope if there is no sealed part", () => {
  assert.equal(isWrapped(wrapSealed()), true);
  assert.equal(unwrapSealed(wrapSealed()), undefined);
});

Deno.test("unwrapSealed() returns undefined for damaged envelopes and for other text", () => {
  const envelope = (content: unknown) => `mg1.${btoa(JSON.stringify(content))}`;
  const others = [
    "",
    "EqQBCgIYAhIM",
    "gAAAAABpB5",
    "mg1.%%%",
    "mg1.AA",
    wrapSealed(SEALED).slice(0, -4),
    envelope(7),
    envelope({ protocol: "other", form: "a", value: "b" }),
    envelope({ protocol: "chat", form: 1, value: "b" }),
    envelope({ protocol: "chat", form: "a" }),
  ];
  for (const text of others) assert.equal(unwrapSealed(text), undefined, text);
});

Deno.test("maySend() allows a sealed part only to its issuer", () => {
  const target = {
    protocol: "messages",
    connectionId: "connection-1",
  } as const;
  const { origin: _origin, ...unknown } = SEALED;
  assert.equal(maySend(SEALED, target), true);
  assert.equal(maySend(unknown, target), true);
  assert.equal(maySend({ ...SEALED, origin: "connection-2" }, target), false);
  assert.equal(maySend({ ...SEALED, protocol: "responses" }, target), false);
});
