import { nonEmptyText, objectOf, parseJson } from "../../core/json.ts";
import { sha256Hex } from "../../core/sha256.ts";
import type { Login, LoginClient } from "./issuer.ts";

/** The place of one login on this machine. */
export interface KeptLogin {
  /** Returns `undefined` when there is none. */
  read(): Promise<Login | undefined>;
  write(login: Login): Promise<void>;
  /** Runs a task while no other process does with the same login. */
  alone<Result>(task: () => Promise<Result>): Promise<Result>;
}

/** Returns the folder of logins of the user; `undefined` when there is no home. */
export function loginFolder(
  env: (name: string) => string | undefined,
): string | undefined {
  const state = env("XDG_STATE_HOME") ?? env("LOCALAPPDATA");
  const home = env("HOME");
  const base = state ?? (home === undefined ? home : `${home}/.local/state`);
  return base && `${base}/model-gateway/logins`;
}

/**
 * Opens the file of a login. Its folder and its files are the user's alone (modes 700 and 600). The lock is the system's,
 * so it ends with its process.
 */
export function openLogin(folder: string, known: LoginClient): KeptLogin {
  const name = sha256Hex(JSON.stringify(known)).slice(0, 16);
  const path = `${folder}/${name}.json`;
  const mode = 0o600;
  const prepare = () => Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    async read() {
      try {
        return parseLogin(await Deno.readTextFile(path));
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return undefined;
        throw error;
      }
    },
    async write(login) {
      await prepare();
      const draft = `${path}.${Deno.pid}`;
      await Deno.writeTextFile(draft, JSON.stringify(login), { mode });
      await Deno.rename(draft, path);
    },
    async alone(task) {
      await prepare();
      const options = { create: true, write: true, mode };
      using file = await Deno.open(`${path}.lock`, options);
      await file.lock(true);
      return await task();
    },
  };
}

function parseLogin(text: string): Login | undefined {
  const { token, fromMs, untilMs, refreshToken, tokenUrl } = objectOf(
    parseJson(text),
  );
  return typeof token === "string" && typeof fromMs === "number" &&
      typeof untilMs === "number" && typeof tokenUrl === "string"
    ? {
      ...{ token, fromMs, untilMs, tokenUrl },
      refreshToken: nonEmptyText(refreshToken),
    }
    : undefined;
}
