import {
  type Config,
  describeAdmin,
  describeConfig,
  limitsOn,
  type LoadResult,
} from "@gateway/gateway/config";
import {
  findConfigPath,
  loadConfigFile,
  loadWithTokens,
  missingFileHint,
  probeProviders,
  problemLines,
} from "@gateway/gateway/process";
import { type Problem, quote, suggestion } from "@gateway/base/problems";
import { randomIds } from "@gateway/base/ids";
import { systemClock } from "@gateway/base/time/timers";
import { createDemoUpstream } from "../demo/upstream.ts";
import {
  type Arguments,
  BadArguments,
  command,
  type Run,
} from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import {
  innermostMessage,
  networkFault,
  type RequestTools,
} from "../gateway_client.ts";
import { counted } from "@gateway/base/text";
import { tryTls } from "@gateway/http1/deno";
import { urlHost } from "@gateway/base/safe_url";
import { tryJson, tryReport } from "../try/report.ts";
import { tryModels } from "../try/try_models.ts";
import { abilityReport } from "./ability_report.ts";
import { loadDemo } from "./demo.ts";
import { CONFIG_OPTION } from "./serve_options.ts";

/** The arguments and the help of `check`. */
export const CHECK: CommandSpec = {
  name: "check",
  summary: "validate gateway.yaml: print a summary or all problems",
  options: [CONFIG_OPTION, {
    name: "live",
    summary:
      "send each provider a request to test it, and read each issuer's keys",
  }, {
    name: "try",
    summary: "with --live: send each model small requests, which are billed",
  }, {
    name: "model",
    value: "ID",
    summary: "print what its providers take; with --try: try it alone",
  }, {
    name: "demo",
    summary: "use the simulated provider in place of a file",
  }, {
    name: "json",
    summary: "with --try: print the results alone, as one line",
  }, {
    name: "print",
    summary: "print every resolved value, too",
  }, {
    name: "quiet",
    summary: "print problems and warnings alone",
  }],
};

/**
 * `check [--config F] [--live] [--try] [--print] [--quiet]`: prints a summary of the configuration, or all of its
 * problems. With `--print`, the whole configuration follows the summary. With `--live`, it sends each provider a
 * request to test its address and key, and reads the keys of the identity providers. With `--try`, it also sends small
 * requests to each model. With `--model`, it prints what the model's providers take of translated requests. With
 * `--quiet`, it prints only what needs attention.
 *
 * @returns The exit code.
 */
export const runCheck: Run<CliIo & RequestTools> = command(
  CHECK,
  async (read, io) => {
    requireOptions(read);
    const { values, flags } = read;
    if (flags.has("demo")) return await checkDemo(read, io);
    const path = findConfigPath({ option: values.get("config"), env: io.env });
    const result = flags.has("live")
      ? await loadWithTokens(path, io)
      : await loadConfigFile(path, { env: io.env });
    if ("problems" in result) {
      return reportProblems(result.problems, {
        path,
        io,
        hint: missingFileHint(result),
      });
    }
    const tlsProblem = tryTls(result.config.server.tls, "server.tls");
    if (tlsProblem !== undefined) {
      return reportProblems([tlsProblem], { path, io });
    }
    const isQuiet = flags.has("quiet") || flags.has("json");
    if (!isQuiet) io.write(summary(result, path, flags.has("print")));
    if (result.warnings.length > 0) {
      io.writeError(`Warnings:\n${problemLines(result.warnings)}`);
    }
    if (flags.has("print") && !isQuiet) io.write(describeConfig(result));
    return await checkLive(result.config, read, io);
  },
);

/** Checks the demo's configuration against the simulated provider, without a network. */
async function checkDemo(
  read: Arguments,
  io: CliIo & RequestTools,
): Promise<number> {
  const { config } = await loadDemo(io);
  const demo = createDemoUpstream({
    ...{ clock: systemClock, ids: randomIds, wordMs: 0 },
  });
  return await checkLive(config, read, { ...io, fetch: demo });
}

/** Prints the problems of a configuration and returns the exit code. */
export function reportProblems(
  problems: readonly Problem[],
  { path, io, hint = "" }: {
    readonly path: string;
    readonly io: CliIo;
    readonly hint?: string;
  },
): number {
  const noun = counted(problems.length, "problem");
  io.writeError(
    `Cannot use ${path}: it has ${noun}.\n${problemLines(problems)}${hint}`,
  );
  return EXIT.badUsage;
}

/** Sends the requests of `--live` and `--try`; without `--live`, sends none. Returns the exit code. */
async function checkLive(
  config: Config,
  { values, flags }: Arguments,
  io: CliIo & RequestTools,
): Promise<number> {
  const model = values.get("model");
  const models = config.connections.filter(({ enabled }) => enabled)
    .flatMap((one) => one.models.map(({ id }) => id));
  if (model !== undefined && !models.includes(model)) {
    const near = suggestion(model, models);
    io.writeError(
      `Cannot check the model ${quote(model)}: no enabled connection has it${
        near || ". Name one by its id."
      }\n`,
    );
    return EXIT.failed;
  }
  if (model !== undefined && !flags.has("try")) {
    io.write(abilityReport(config, model));
  }
  if (!flags.has("live")) return EXIT.good;
  const probes = await probeProviders(config, {
    fetch: io.fetch,
    deadline: () => io.deadline(DEADLINE_MS),
    reasonOf,
  });
  for (const { name, finding, good } of probes) {
    const line = `${name}: ${finding}\n`;
    if (flags.has("json")) io.writeError(line);
    else if (!good || !flags.has("quiet")) io.write(line);
  }
  const areGood = probes.every(({ good }) => good);
  if (!flags.has("try")) return areGood ? EXIT.good : EXIT.failed;
  const results = await tryModels(config, {
    ...{ fetch: io.fetch, deadline: io.deadline },
    model,
    elapsedMs: systemClock.elapsedMs,
    onProgress: (line) => io.writeError(`${line}\n`),
  });
  const tried = { results, config };
  io.write(flags.has("json") ? tryJson(tried) : tryReport(tried));
  const words = results.filter(({ trial }) => trial === "a word");
  return areGood && words.every(({ result }) => result !== "refused")
    ? EXIT.good
    : EXIT.failed;
}

/** @throws {BadArguments} For options that do not go together. */
function requireOptions({ values, flags }: Arguments): void {
  if (flags.has("try") && !flags.has("live")) {
    throw new BadArguments("--try needs --live");
  }
  if (flags.has("json") && !flags.has("try")) {
    throw new BadArguments("--json needs --try");
  }
  if (flags.has("demo") && values.has("config")) {
    throw new BadArguments("the demo reads no file. Leave --config out");
  }
}

/**
 * Returns the summary of a configuration. When the whole configuration follows, the summary consists of YAML comments.
 */
function summary(
  { config, warnings }: Extract<LoadResult, { config: unknown }>,
  path: string,
  isComment: boolean,
): string {
  const { host, port, tls, admin } = config.server;
  const metrics = admin && `; metrics on ${describeAdmin(admin)}`;
  const text = [
    `${path} is valid: ${extent(config)}, ${
      counted(warnings.length, "warning")
    }`,
    `Listens on http${tls ? "s" : ""}://${urlHost(host)}:${port}${
      metrics ?? ""
    }`,
    ...longLived(config),
    ...isComment ? [] : ["All resolved values: --print"],
    "",
  ].join("\n");
  return isComment ? text.replaceAll(/^(?=.)/gm, "# ") : text;
}

/** Returns a line that names the long-lived secrets, or no line when no connection uses short-lived tokens. */
function longLived(config: Config): readonly string[] {
  const { connections, shared } = config;
  const isKeyless = connections.some(({ auth }) =>
    auth.scheme !== "none" && auth.exchange !== undefined
  );
  if (!isKeyless) return [];
  const names = [
    ...connections.filter(({ auth }) =>
      auth.scheme !== "none" && auth.exchange === undefined
    ).map(({ name }) => `the key of ${name}`),
    ...connections.filter(({ quota }) => quota?.key !== undefined)
      .map(({ name }) => `the quota key of ${name}`),
    ...(shared?.password === undefined ? [] : ["the password of the store"]),
  ];
  return [`Long-lived secrets: ${[names.length, ...names].join(", ")}`];
}

/** Returns the counts of connections, models, callers, groups and limits. */
function extent({ connections, pools, callers, identity }: Config): string {
  const people = new Set(callers.values());
  const all = [...people, ...identity.flatMap(({ rules }) => rules)];
  // The pools list aliases, too; an alias is not counted as a model.
  const models = [...pools].filter(([name, deployments]) =>
    deployments.some(({ model }) => model.id === name)
  );
  return [
    counted(connections.length, "connection"),
    counted(models.length, "model"),
    counted(people.size, "token"),
    ...identity.length > 0
      ? [counted(identity.length, "identity provider")]
      : [],
    counted(new Set(all.flatMap(({ groups }) => groups)).size, "group"),
    counted(new Set(all.flatMap(limitsOn)).size, "limit"),
  ].join(", ");
}

/** The timeout of each probe, in milliseconds. */
const DEADLINE_MS = 10_000;

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  if (error.name === "TimeoutError") return `no answer in ${DEADLINE_MS} ms`;
  return networkFault(error) ?? innermostMessage(error);
}
