import assert from "node:assert/strict";
import { isJsonObject, type JsonObject } from "../../../src/base/json.ts";

const NAME_REGEXP = /^[A-Za-z0-9_-]{1,128}$/;
const ROLES: readonly unknown[] = ["user", "assistant", "system"];
const TOP_LEVEL_CHOICES = ["anyOf", "oneOf", "allOf", "$ref"];

/**
 * Fails where a Messages provider would refuse a request, by the rules in its errors and documents:
 * the order of roles, calls and their results, blank text, ids, names, schemas, reasoning budgets,
 * cache markers.
 */
export function assertSendable(body: JsonObject): void {
  const messages = objects(body.messages);
  assert.ok(Number.isInteger(body.max_tokens), "max_tokens is a number");
  assert.equal(messages[0]?.role, "user", "the user begins");
  messages.forEach((message, index) => {
    assert.ok(ROLES.includes(message.role), `the role ${message.role}`);
    checkNeighbours(messages, index);
    checkBlocks(objects(message.content), message.role);
    checkResults(messages, index);
  });
  const last = objects(messages.at(-1)?.content).at(-1);
  if (messages.at(-1)?.role === "assistant" && typeof last?.text === "string") {
    assert.equal(last.text, last.text.trimEnd(), "a prefill ends in no blank");
  }
  checkIds(messages);
  checkBlocks(objects(body.system), "user");
  checkTools(body);
  checkThinking(body);
  const marks = JSON.stringify(body).split('"cache_control"').length - 1;
  assert.ok(marks <= 4, `${marks} cache marks`);
}

function checkNeighbours(messages: readonly JsonObject[], index: number): void {
  const before = messages[index - 1]?.role;
  const here = messages[index]?.role;
  const after = messages[index + 1]?.role;
  assert.notEqual(here, before, "speakers alternate");
  if (here !== "system") return;
  assert.equal(before, "user", "a system message follows the user");
  assert.ok(after === undefined || after === "assistant");
}

function checkBlocks(blocks: readonly JsonObject[], role: unknown): void {
  for (const block of blocks) {
    assert.equal(typeof block.type, "string");
    if (block.type === "text") {
      assert.notEqual(String(block.text).trim(), "", "text is not blank");
    }
    if (block.type === "image" || block.type === "document") {
      assert.equal(role, "user", `${block.type} of the ${role}`);
    }
  }
}

function checkIds(messages: readonly JsonObject[]): void {
  const ids = messages.flatMap(({ content }) => objects(content))
    .filter(({ type }) => type === "tool_use").map(({ id }) => String(id));
  for (const id of ids) assert.match(id, NAME_REGEXP);
  assert.equal(new Set(ids).size, ids.length, "ids are unique");
}

/**
 * Checks that the next message begins with the results of all calls of this one, and has no other
 * result.
 */
function checkResults(messages: readonly JsonObject[], index: number): void {
  const calls = objects(messages[index]?.content)
    .filter(({ type }) => type === "tool_use").map(({ id }) => id);
  if (messages[index]?.role !== "assistant") return;
  const blocks = objects(messages[index + 1]?.content);
  const results = blocks.filter(({ type }) => type === "tool_result");
  assert.deepEqual(
    results.map(({ tool_use_id }) => tool_use_id).sort(),
    [...calls].sort(),
    "every call has its result",
  );
  assert.deepEqual(blocks.slice(0, results.length), results);
}

function checkTools(body: JsonObject): void {
  const tools = objects(body.tools);
  if (tools.length === 0) assert.equal(body.tool_choice, undefined);
  const names = tools.map(({ name }) => String(name));
  assert.equal(new Set(names).size, names.length, "names are unique");
  for (const { name, input_schema, description } of tools) {
    assert.match(String(name), NAME_REGEXP);
    assert.notEqual(description, null);
    if (!isJsonObject(input_schema)) continue;
    assert.equal(input_schema.type, "object", "arguments are an object");
    for (const keyword of TOP_LEVEL_CHOICES) {
      assert.equal(input_schema[keyword], undefined, `${keyword} at the root`);
    }
  }
}

function checkThinking({ thinking, max_tokens }: JsonObject): void {
  if (!isJsonObject(thinking) || thinking.type !== "enabled") return;
  const budget = Number(thinking.budget_tokens);
  assert.ok(budget >= 1024 && budget < Number(max_tokens), `budget ${budget}`);
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
