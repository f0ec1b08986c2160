import { CLIENTS as SETTINGS } from "../../src/page/wording/settings.js";
import type { Protocol } from "../../src/base/protocol.ts";
import { cacheFolder, exists, type InstalledClient } from "./install.ts";
import type { Startable } from "./run_client.ts";

/** A program with one of the official SDKs for Python, as `setup` prints it. */
export interface PythonProgram extends Startable {
  readonly name: string;
  readonly protocol: Protocol;
}

/** The tested versions of the SDKs on PyPI. */
const PACKAGES = ["openai==3.57.0", "anthropic==2.14.0"];

/** The programs of both SDKs. */
export const PYTHON_SDKS: readonly PythonProgram[] = [
  pythonProgram("openai", "chat"),
  pythonProgram("anthropic", "messages"),
];

function pythonProgram(sdk: string, protocol: Protocol): PythonProgram {
  const settings = SETTINGS.find(({ id }) => id === `${sdk}-python`);
  if (settings === undefined) throw new Error(`setup has no ${sdk}-python`);
  return {
    name: `Python, ${sdk}`,
    protocol,
    launch: (_prompt, { url, token, model }) => {
      const models = [{ id: model, protocols: [protocol] }];
      const { title, text } = settings.settings({ base: url, model, models });
      return {
        args: [`../${title}`],
        env: { MODEL_GATEWAY_TOKEN: token },
        files: { [title]: text },
      };
    },
  };
}

/** Longer than a download takes, in milliseconds. */
const INSTALL_MS = 300_000;

/** Installs the SDKs, as {@linkcode installPython} does. */
export function installPythonSdks(): Promise<InstalledClient> {
  return installPython(PACKAGES);
}

/** Installs packages from PyPI, once for each set of versions, into the folder for temporary files. */
export async function installPython(
  packages: readonly string[],
): Promise<InstalledClient> {
  const folder = `${cacheFolder()}/python-${packages.join("-")}`;
  const done = `${folder}/installed`;
  const python = `${folder}/bin/python`;
  if (await exists(done)) return { command: [python] };
  const pip = ["-m", "pip", "install", "--quiet", ...packages];
  const failed = await run("python3", ["-m", "venv", folder]) ??
    await run(python, pip);
  if (failed !== undefined) return { reason: failed };
  await Deno.writeTextFile(done, "");
  return { command: [python] };
}

/** @returns The error, if there was one. */
async function run(
  program: string,
  args: readonly string[],
): Promise<string | undefined> {
  try {
    const { success, stderr } = await new Deno.Command(program, {
      args: [...args],
      stdin: "null",
      signal: AbortSignal.timeout(INSTALL_MS),
    }).output();
    if (success) return undefined;
    const [reason = "no reason given"] = new TextDecoder().decode(stderr)
      .split("\n").filter((line) => /error/i.test(line));
    return `${program} ${args.join(" ")} failed: ${reason}`;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return "python3 is not installed here";
  }
}
