import assert from "node:assert/strict";
import { runSchema } from "../../../src/cli/commands/schema.ts";
import {
  configJsonSchema,
  includedJsonSchema,
} from "../../../src/config/schema/json_schema.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";

Deno.test("schema prints the JSON Schema of the file", () => {
  const io = createMemoryIo();
  assert.equal(runSchema([], io), 0);
  assert.deepEqual(JSON.parse(io.written()), configJsonSchema());
  assert.equal(io.complained(), "");
});

Deno.test("schema --included prints the JSON Schema of the files of include", () => {
  const io = createMemoryIo();
  assert.equal(runSchema(["--included"], io), 0);
  assert.deepEqual(JSON.parse(io.written()), includedJsonSchema());
});

Deno.test("schema accepts no argument", () => {
  const io = createMemoryIo();
  assert.equal(runSchema(["gateway.yaml"], io), 2);
  assert.equal(io.written(), "");
  assert.match(
    io.complained(),
    /^Cannot run schema: it takes options only\.\n/,
  );
});
