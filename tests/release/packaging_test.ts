import assert from "node:assert/strict";
import { COMMANDS } from "../../src/tools/mod.ts";
import { TARGETS } from "../../release/executable.ts";
import { ROUTES } from "../../src/gateway/http/routes.ts";
import { VERSION } from "../../src/base/version.ts";
import { minimalConfig } from "../support/gateway/config.ts";
import { STALL_MS } from "../../src/base/streams/pass_through.ts";
import { parsed } from "../support/program/parsed.ts";
import { testNeeding } from "../support/ignored.ts";
import { hasProgram } from "../support/program/has_program.ts";
import { runOther } from "../support/program/run_program.ts";
import { openTempFolder } from "../support/temp_folder.ts";

const ROOT = new URL("../../", import.meta.url);

async function read(path: string): Promise<string> {
  return await Deno.readTextFile(new URL(path, ROOT));
}

/** Fails unless the program accepts this command line. */
async function assertUnderstood(
  [name, ...args]: readonly string[],
): Promise<void> {
  const command = COMMANDS.find(({ spec }) => spec.name === name);
  assert.ok(command !== undefined, name);
  await parsed(command.spec, args);
}

/** The instructions of a Dockerfile, with the lines that continue them. */
async function instructions(): Promise<readonly (readonly [string, string])[]> {
  const text = (await read("packaging/Dockerfile"))
    .replaceAll(/^#.*\n/gm, "").replaceAll(/\\\n\s*/g, "");
  return text.split("\n").filter((line) => line !== "").map((line) => {
    const [, instruction = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    return [instruction, rest] as const;
  });
}

/** Returns the arguments of an instruction, which must occur once. */
function only(
  all: readonly (readonly [string, string])[],
  instruction: string,
): string {
  const found = all.filter(([name]) => name === instruction);
  assert.equal(found.length, 1, instruction);
  return found[0]?.[1] ?? "";
}

Deno.test("the image runs one file as a user without rights, without a shell", async () => {
  const all = await instructions();
  const known =
    "FROM ARG COPY ENV WORKDIR USER EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD";
  for (const [instruction] of all) {
    assert.ok(known.split(" ").includes(instruction), instruction);
  }
  assert.match(
    only(all, "FROM"),
    /^gcr\.io\/distroless\/cc-debian\d+:nonroot$/,
  );
  assert.equal(only(all, "USER"), "nonroot:nonroot");
  assert.match(only(all, "COPY"), /^--chmod=0555 \$\{EXECUTABLE\} /);
  assert.deepEqual(JSON.parse(only(all, "ENTRYPOINT")), [
    only(all, "COPY").split(" ").at(-1),
  ]);
});

Deno.test("the image serves and checks its health with valid commands", async () => {
  const all = await instructions();
  const serve: readonly string[] = JSON.parse(only(all, "CMD"));
  await assertUnderstood(serve);
  assert.equal(serve[serve.indexOf("--port") + 1], only(all, "EXPOSE"));
  const [, check = ""] = only(all, "HEALTHCHECK").split(" CMD ");
  const [program, ...words]: readonly string[] = JSON.parse(check);
  assert.deepEqual([program], JSON.parse(only(all, "ENTRYPOINT")));
  await assertUnderstood(words);
  assert.ok(words.at(-1)?.endsWith(`:${only(all, "EXPOSE")}`));
});

Deno.test("the documented build of the image uses a file of the release", async () => {
  const names = TARGETS.map(({ name }) =>
    `dist/release/model-gateway-${VERSION}-${name}`
  );
  const [, named = ""] =
    /EXECUTABLE=(\S+)/.exec(await read("packaging/Dockerfile")) ?? [];
  assert.ok(names.includes(named), named);
});

Deno.test("the documented run of the image mounts the configuration's folder instead of its file", async () => {
  const dockerfile = await read("packaging/Dockerfile");
  const mounts = [...dockerfile.matchAll(/-v \S+?:([^:\s]+)/g)]
    .map(([, target]) => target);
  const config = /MODEL_GATEWAY_CONFIG=(\S+)/.exec(dockerfile)?.[1] ?? "";
  assert.deepEqual(mounts, [config.replace(/\/[^/]+$/, "")]);
});

Deno.test("the documentation names the files for proxies and services", async () => {
  const page = await read("docs/running.md");
  for (
    const name of [
      ...["nginx.conf", "nginx-sessions.conf", "nginx-tls.conf", "envoy.yaml"],
      ...["model-gateway.service", "model-gateway@.service"],
      ...["kubernetes.yaml", "Dockerfile"],
    ]
  ) {
    assert.ok(page.includes(`(../packaging/${name})`), name);
  }
});

Deno.test("the nginx site with TLS has every line of the two sites without TLS except their ports", async () => {
  const [tls, plain, sessions] = await Promise.all(
    ["nginx-tls.conf", "nginx.conf", "nginx-sessions.conf"]
      .map((name) => read(`packaging/${name}`)),
  );
  const lines = new Set(tls?.split("\n"));
  for (const line of `${plain}${sessions}`.split("\n")) {
    if (/^#|8789|listen 8080/.test(line)) continue;
    assert.ok(lines.has(line), line);
  }
  assert.match(tls ?? "", /^ {2}listen 443 ssl;$/m);
  assert.doesNotMatch(tls ?? "", /listen 80;/);
});

Deno.test("the systemd template unit differs from the plain unit only in the port", async () => {
  const settings = (text: string) =>
    text.split("\n").filter((line) => !line.startsWith("#")).join("\n");
  const [unit = "", template = ""] = await Promise.all(
    ["model-gateway.service", "model-gateway@.service"]
      .map(async (name) => settings(await read(`packaging/${name}`))),
  );
  assert.equal(
    template.replace(", port %i", "").replace(" --port %i", ""),
    unit,
  );
  const [, words = ""] = /^ExecStart=\S+ (.*)$/m.exec(template) ?? [];
  await assertUnderstood(words.replace("%i", "8788").split(" "));
});

Deno.test("the documented setup creates the folder and the files of a log before systemd opens them", async () => {
  const page = await read("docs/observing.md");
  const [, folder = ""] =
    /^ *StandardOutput=append:(\S+)\/%i\.jsonl$/m.exec(page) ?? [];
  // systemd opens the file first, and makes the folder of LogsDirectory later: the unit fails with 209/STDOUT.
  assert.doesNotMatch(page, /^ *LogsDirectory=/m);
  assert.match(
    page,
    new RegExp(`install -d -m 750 -g model-gateway ${folder}\n`),
  );
  assert.match(page, new RegExp(`cd ${folder} && touch 8787.jsonl 8788.jsonl`));
});

/** Returns the unit's settings by section and name, repeated ones in order. */
async function unitSettings(): Promise<ReadonlyMap<string, readonly string[]>> {
  const settings = new Map<string, string[]>();
  let section = "";
  for (
    const line of (await read("packaging/model-gateway.service")).split("\n")
  ) {
    if (line === "" || line.startsWith("#")) continue;
    const [, heading] = /^\[(\w+)\]$/.exec(line) ?? [];
    section = heading ?? section;
    if (heading !== undefined) continue;
    const [, key = "", value = ""] = /^(\w+)=(.*)$/.exec(line) ?? [];
    assert.notEqual(key, "", line);
    const name = `${section}.${key}`;
    settings.set(name, [...settings.get(name) ?? [], value]);
  }
  return settings;
}

Deno.test("the unit starts and reloads the program with valid commands, and gives it time to drain", async () => {
  const settings = await unitSettings();
  const one = (name: string) =>
    settings.get(`Service.${name}`)?.join(" ") ?? "";
  const [, ...words] = one("ExecStart").split(" ");
  await assertUnderstood(words);
  assert.match(one("ExecReload"), /-HUP \$MAINPID$/);
  assert.ok(Number(one("TimeoutStopSec")) > 30);
  assert.equal(one("RestartPreventExitStatus"), "2");
  assert.ok(Number(one("LimitNOFILE")) >= 4096);
  assert.equal(one("LogRateLimitIntervalSec"), "0");
});

Deno.test("the unit disables rights that the program does not need", async () => {
  const settings = await unitSettings();
  const one = (name: string) => settings.get(`Service.${name}`)?.join(" ");
  const switches = [
    ...["NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectHome"],
    ...["ProtectKernelModules", "ProtectKernelTunables"],
    ...["RestrictNamespaces", "RestrictSUIDSGID"],
  ];
  for (const name of switches) assert.equal(one(name), "yes", name);
  assert.equal(one("ProtectSystem"), "strict");
  assert.equal(one("CapabilityBoundingSet"), "");
  assert.notEqual(one("User"), "root");
  // V8 makes machine code as it runs.
  assert.equal(one("MemoryDenyWriteExecute"), undefined);
});

const hasSystemd = await hasProgram("systemd-analyze");

/** The highest exposure of a unit, of 10. A unit without protection has 9.6. */
const MOST_EXPOSED = 1.5;

/** The units, with their names for systemd. */
const UNITS = [
  { file: "model-gateway.service", name: "model-gateway.service" },
  { file: "model-gateway@.service", name: "model-gateway@8788.service" },
];

for (const { file, name } of UNITS) {
  testNeeding(
    `systemd accepts ${file}, and rates its exposure as low`,
    !hasSystemd && "there is no systemd-analyze here",
    async () => {
      await using folder = await openTempFolder();
      const unit = `${folder.path}/${name}`;
      // An existing program: the released one is not installed here.
      const text = (await read(`packaging/${file}`))
        .replaceAll("/usr/local/bin/model-gateway", Deno.execPath());
      await Deno.writeTextFile(unit, text);
      const verified = await runOther("systemd-analyze", ["verify", unit]);
      assert.equal(verified.stderr, "");
      assert.equal(verified.code, 0);
      const judged = await runOther("systemd-analyze", [
        ...["security", "--offline=yes"],
        ...[`--threshold=${MOST_EXPOSED * 10}`, unit],
      ]);
      const report = judged.stdout;
      assert.equal(judged.code, 0, report + judged.stderr);
      const [, level] = /exposure level for \S+: ([\d.]+)/.exec(report) ?? [];
      assert.ok(Number(level) <= MOST_EXPOSED, report);
    },
  );
}

Deno.test("each shipped nginx forwards a body just above the gateway's limit, so that the gateway reports the limit", async () => {
  const most = Math.max(...ROUTES.map(({ maxBodyBytes }) => maxBodyBytes));
  for (const name of ["nginx.conf", "nginx-sessions.conf", "nginx-tls.conf"]) {
    const site = await read(`packaging/${name}`);
    const [, mib] = /^ *client_max_body_size (\d+)m;$/m.exec(site) ?? [];
    assert.equal(Number(mib) * 1024 ** 2, most + 1024 ** 2, name);
  }
});

Deno.test("no shipped proxy ends a silent stream or a slow caller before the gateway does", async () => {
  const { timeouts } = await minimalConfig();
  for (const name of ["nginx.conf", "nginx-sessions.conf", "nginx-tls.conf"]) {
    const site = await read(`packaging/${name}`);
    const secondsOf = (setting: string) =>
      Number(new RegExp(`^ *${setting} (\\d+)s;$`, "m").exec(site)?.[1]);
    assert.ok(secondsOf("proxy_read_timeout") * 1000 > timeouts.idleMs, name);
    assert.ok(
      secondsOf("proxy_read_timeout") * 1000 > timeouts.firstByteMs,
      name,
    );
    assert.ok(secondsOf("send_timeout") * 1000 >= STALL_MS, name);
    assert.ok(secondsOf("client_body_timeout") * 1000 >= timeouts.bodyMs, name);
  }
  const envoy = await read("packaging/envoy.yaml");
  const [, seconds] = /stream_idle_timeout: (\d+)s/.exec(envoy) ?? [];
  assert.ok(Number(seconds) * 1000 > Math.max(timeouts.idleMs, STALL_MS));
  assert.match(envoy, /^ *timeout: 0s$/m);
});
