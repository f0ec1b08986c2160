import assert from "node:assert/strict";
import {
  beside,
  findConfigPath,
} from "../../../src/cli/commands/config_file.ts";

const env = (name: string) =>
  name === "MODEL_GATEWAY_CONFIG" ? "/etc/from-env.yaml" : undefined;

Deno.test("findConfigPath() takes --config before the environment", () => {
  assert.equal(findConfigPath({ option: "mine.yaml", env }), "mine.yaml");
});

Deno.test("findConfigPath() takes the environment before the working directory", () => {
  assert.equal(
    findConfigPath({ option: undefined, env }),
    "/etc/from-env.yaml",
  );
});

Deno.test("findConfigPath() falls back to gateway.yaml, also for an empty variable", () => {
  for (const value of [undefined, ""]) {
    const path = findConfigPath({ option: undefined, env: () => value });
    assert.equal(path, "gateway.yaml");
  }
});

Deno.test("beside() resolves a relative path against the folder of the file, on every platform", () => {
  const cases = [
    ["gateway.yaml", "keys/a", "keys/a"],
    ["/etc/gw/gateway.yaml", "keys/a", "/etc/gw/keys/a"],
    ["/etc/gw/gateway.yaml", "/keys/a", "/keys/a"],
    ["C:\\gw\\gateway.yaml", "keys\\a", "C:\\gw\\keys\\a"],
    ["C:\\gw\\gateway.yaml", "D:\\keys\\a", "D:\\keys\\a"],
    ["C:\\gw\\gateway.yaml", "\\\\host\\keys\\a", "\\\\host\\keys\\a"],
  ] as const;
  for (const [file, named, expected] of cases) {
    assert.equal(beside(file, named), expected);
  }
});
