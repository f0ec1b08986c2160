import assert from "node:assert/strict";
import {
  loadFile,
  minimalConfig,
  minimalFile,
} from "../../support/gateway/config.ts";
import {
  readServeOptions,
  startWarnings,
  withOptions,
} from "../../../src/cli/commands/serve_options.ts";

Deno.test("readServeOptions() returns the given options only", () => {
  const cases: readonly (readonly [string, object])[] = [
    ["", { log: "json" }],
    ["--port 80", { log: "json", port: 80 }],
    ["--port=0", { log: "json", port: 0 }],
    ["--port 65535", { log: "json", port: 65535 }],
    ["--port 80 --port 90", { log: "json", port: 90 }],
    ["--host ::1 --log text", { log: "text", host: "::1" }],
    ["--log json --config a/b.yaml", { log: "json", config: "a/b.yaml" }],
    ["--config=-", { log: "json", config: "-" }],
  ];
  for (const [line, expected] of cases) {
    const args = line.split(" ").filter((arg) => arg !== "");
    assert.deepEqual(readServeOptions(args), expected, line);
  }
});

Deno.test("readServeOptions() reports the first fault", () => {
  const port = "--port must be a number from 0 to 65535";
  const operand = "it takes options only";
  const cases: readonly (readonly [string, string])[] = [
    ["--port", "--port needs a value (PORT)"],
    ["--port=", "--port needs a value (PORT)"],
    ["--port 65536", port],
    ["--port x", port],
    ["--port 1e3", port],
    ["--port 0x50", port],
    ["--port 8080.5", port],
    ["--config", "--config needs a value (FILE)"],
    ["--config --port 80", "--config needs a value (FILE)"],
    ["--host", "--host needs a value (HOST)"],
    ["--log", "--log must be json or text"],
    ["--log xml", "--log must be json or text"],
    ["--help", "there is no option --help"],
    ["--Port 80", 'there is no option --Port. Did you mean "--port"?'],
    ["--confg x", 'there is no option --confg. Did you mean "--config"?'],
    ["--no-log", "there is no option --no-log"],
    ["--port.x 1", 'there is no option --port. Did you mean "--port"?'],
    ["--__proto__ x", "there is no option --"],
    ["-p 80", "there is no option -p"],
    ["gateway.yaml", operand],
    ["--port 80 8080", operand],
    ["-- gateway.yaml", operand],
    ["-- --port 80", operand],
  ];
  for (const [line, fault] of cases) {
    assert.deepEqual(readServeOptions(line.split(" ")), { fault }, line);
  }
});

Deno.test("withOptions() prefers the command line over the configuration", async () => {
  const { server } = await minimalConfig();
  assert.deepEqual(withOptions(server, { log: "json" }), server);
  assert.deepEqual(
    withOptions(server, { log: "json", host: "::", port: 0 }),
    { ...server, host: "::", port: 0 },
  );
});

Deno.test("a warning about the host concerns the host that is used", async (t) => {
  const cases: readonly (readonly [string, string | undefined, string[]])[] = [
    ["127.0.0.1", undefined, []],
    ["0.0.0.0", undefined, ["server.host"]],
    ["0.0.0.0", "127.0.0.1", []],
    ["127.0.0.1", "0.0.0.0", ["--host"]],
    ["0.0.0.0", "0.0.0.0", ["--host"]],
  ];
  for (const [host, option, places] of cases) {
    await t.step(`${host}, --host ${option}`, async () => {
      const file = minimalFile({ server: { host }, tokens: [] });
      const loaded = await loadFile(file);
      assert.ok("config" in loaded);
      const options = option === undefined ? {} : { host: option };
      const warnings = startWarnings(loaded, { log: "json", ...options });
      assert.deepEqual(
        new Set(warnings.map(({ path }) => path)),
        new Set(["tokens", ...places]),
      );
    });
  }
});
