import assert from "node:assert/strict";
import {
  startWarnings,
  withOptions,
} from "../../../src/gateway/process/serve.ts";
import {
  beside,
  findConfigPath,
} from "../../../src/gateway/process/config_file.ts";
import { runHealth } from "../../../src/tools/commands/health.ts";
import { createMemoryIo } from "../../support/fakes/memory_io.ts";
import { runSchema } from "../../../src/tools/commands/schema.ts";
import {
  configJsonSchema,
  includedJsonSchema,
} from "../../../src/gateway/config/schema/json_schema.ts";
import {
  loadFile,
  minimalConfig,
  minimalFile,
} from "../../support/gateway/config.ts";
import { command } from "../../../src/tools/arguments.ts";
import { SERVE } from "../../../src/tools/commands/serve.ts";
import { readServeOptions } from "../../../src/tools/commands/serve_options.ts";
import { endSentence } from "../../../src/base/text.ts";
import { parsed } from "../../support/program/parsed.ts";
import { steps } from "../../support/steps.ts";

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

/** Runs `health` against the given responses. */
async function health(
  args: readonly string[],
  answer: () => Promise<Response> | Response,
) {
  const io = createMemoryIo();
  const asked: string[] = [];
  const code = await runHealth(args, {
    ...io,
    fetch: async (input) => {
      asked.push(String(input));
      return await answer();
    },
    deadline: () => new AbortController().signal,
  });
  return { code, asked, written: io.written(), complained: io.complained() };
}

Deno.test("health requests /readyz of the named gateway, or the one on this machine, and ends with 0 if it is ready", async () => {
  const ready = () => new Response("ok");
  const here = await health([], ready);
  assert.deepEqual(here, {
    code: 0,
    asked: ["http://127.0.0.1:8787/readyz"],
    written: "http://127.0.0.1:8787/readyz: ready\n",
    complained: "",
  });
  const there = await health(["--url", "https://gw.test:9090/v1"], ready);
  assert.deepEqual(there.asked, ["https://gw.test:9090/readyz"]);
});

Deno.test("health rejects an invalid address, and does not repeat its password", async () => {
  for (const url of ["gw.test", "ftp://gw.test", "http://me:pw@gw.test"]) {
    const { code, asked, complained } = await health(
      ["--url", url],
      () => assert.fail("nothing is asked"),
    );
    assert.equal(code, 2);
    assert.deepEqual(asked, []);
    assert.match(complained, /--url must be the address of a gateway \(/);
    assert.doesNotMatch(complained, /pw/);
  }
});

Deno.test("health ends with 1 and prints the reason when the gateway accepts no requests", async (t) => {
  const late = new Error("signal");
  late.name = "TimeoutError";
  const cases: Readonly<Record<string, () => Promise<Response> | Response>> = {
    "the response is HTTP 503": () => new Response(null, { status: 503 }),
    "the response is HTTP 302": () =>
      Response.redirect("http://elsewhere.test"),
    "nothing answers there": () => Promise.reject(new TypeError("refused")),
    "no response came within 3 s": () => Promise.reject(late),
    "its certificate has expired": () =>
      Promise.reject(new TypeError("invalid peer certificate: Expired")),
  };
  await steps(t, Object.entries(cases), async ([reason, answer]) => {
    const { code, written, complained } = await health([], answer);
    assert.equal(code, 1);
    assert.equal(written, "");
    assert.equal(
      complained,
      `http://127.0.0.1:8787/readyz is not ready: ${reason}.\n`,
    );
  });
});

Deno.test("health rejects an argument that is not an address", async () => {
  for (const url of ["127.0.0.1:8787", "ftp://gw.test", "http://"]) {
    const { code, asked } = await health(["--url", url], () => new Response());
    assert.equal(code, 2);
    assert.deepEqual(asked, []);
  }
});

Deno.test("schema prints the JSON Schema of the file", async () => {
  const io = createMemoryIo();
  assert.equal(await runSchema([], io), 0);
  assert.deepEqual(JSON.parse(io.written()), configJsonSchema());
  assert.equal(io.complained(), "");
});

Deno.test("schema --included prints the JSON Schema of the files of include", async () => {
  const io = createMemoryIo();
  assert.equal(await runSchema(["--included"], io), 0);
  assert.deepEqual(JSON.parse(io.written()), includedJsonSchema());
});

Deno.test("schema accepts no argument", async () => {
  const io = createMemoryIo();
  assert.equal(await runSchema(["gateway.yaml"], io), 2);
  assert.equal(io.written(), "");
  assert.match(
    io.complained(),
    /^Cannot run schema: it takes options only\.\n/,
  );
});

Deno.test("readServeOptions() returns only the given options", async () => {
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
    const options = readServeOptions(await parsed(SERVE, args));
    assert.deepEqual(options, expected, line);
  }
});

Deno.test("readServeOptions() reports the first fault", async () => {
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
    const io = createMemoryIo();
    await command(SERVE, (read) => {
      readServeOptions(read);
      return 0;
    })(line.split(" "), io);
    const [reason] = io.complained().split("\n");
    assert.equal(reason, `Cannot run serve: ${endSentence(fault)}`, line);
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

Deno.test("a warning about a public host names the setting or option in use", async (t) => {
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
