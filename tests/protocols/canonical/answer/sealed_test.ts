import assert from "node:assert/strict";
import {
  isWrapped,
  maySend,
  type Sealed,
  unwrapSealed,
  wrapSealed,
} from "../../../../src/protocols/canonical/answer/sealed.ts";

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

Deno.test("wrapSealed() writes only characters that every field takes", () => {
  assert.match(wrapSealed(SEALED), /^mg1\.[A-Za-z0-9_-]+$/);
});

Deno.test("an empty envelope is one, and holds nothing", () => {
  assert.equal(isWrapped(wrapSealed()), true);
  assert.equal(unwrapSealed(wrapSealed()), undefined);
});

Deno.test("unwrapSealed() finds nothing in what is no envelope or a damaged one", () => {
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

Deno.test("maySend() lets sealed parts go only to their issuer", () => {
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
