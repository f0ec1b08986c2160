import assert from "node:assert/strict";
import { readServeOptions, withOptions } from "../../src/cli/serve_options.ts";
import { minimalConfig } from "../support/config.ts";

Deno.test("readServeOptions() reads what is given and leaves the rest out", () => {
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

Deno.test("readServeOptions() says what is wrong", () => {
  const port = "--port must be a number to 65535";
  const cases: readonly (readonly [string, string])[] = [
    ["--port", port],
    ["--port=", port],
    ["--port 65536", port],
    ["--port x", port],
    ["--port 1e3", port],
    ["--port 0x50", port],
    ["--port 8080.5", port],
    ["--config", "--config needs a file"],
    ["--config --port 80", "--config needs a file"],
    ["--host", "--host needs an address"],
    ["--log", "--log must be json or text"],
    ["--log xml", "--log must be json or text"],
    ["--help", "unknown argument --help"],
    ["--Port 80", "unknown argument --Port"],
    ["--no-log", "unknown argument --no-log"],
    ["--port.x 1", "unknown argument --port.x"],
    ["--__proto__ x", "unknown argument --__proto__"],
    ["-p 80", "unknown argument -p"],
    ["gateway.yaml", "unknown argument gateway.yaml"],
    ["--port 80 8080", "unknown argument 8080"],
    ["-- gateway.yaml", "unknown argument gateway.yaml"],
    ["-- --port 80", "unknown argument --port"],
  ];
  for (const [line, fault] of cases) {
    assert.deepEqual(readServeOptions(line.split(" ")), { fault }, line);
  }
});

Deno.test("withOptions() lets the command line win over the configuration", async () => {
  const { server } = await minimalConfig();
  assert.deepEqual(withOptions(server, { log: "json" }), server);
  assert.deepEqual(
    withOptions(server, { log: "json", host: "::", port: 0 }),
    { ...server, host: "::", port: 0 },
  );
});
