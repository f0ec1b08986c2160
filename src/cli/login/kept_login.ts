import { nonEmptyText, objectOf, parseJson } from "../../core/json.ts";

/** The reason why there is no token, in whole sentences. */
export class LoginFault extends Error {
  override readonly name = "LoginFault";
}

/** A program that people sign in to, as the issuer knows it. */
export interface LoginClient {
  readonly issuer: string;
  readonly client: string;
  readonly scope: string;
  /** Some issuers choose the token's audience by it. */
  readonly audience: string | undefined;
}

/** A login, as its file has it. Times are in milliseconds since 1970. */
export interface Login {
  readonly token: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly refreshToken: string | undefined;
  readonly tokenUrl: string;
}

/** The place of one login on this machine. */
export interface KeptLogin {
  /** Returns `undefined` when there is none. */
  read(): Login | undefined;
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
  const path = `${folder}/${nameOf(known)}.json`;
  const mode = 0o600;
  const prepare = () => Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    read() {
      try {
        return parseLogin(Deno.readTextFileSync(path), known);
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return undefined;
        throw error;
      }
    },
    async write(login) {
      await prepare();
      const draft = `${path}.${Deno.pid}`;
      await Deno.writeTextFile(draft, JSON.stringify({ ...login, known }), {
        mode,
      });
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

/**
 * Returns the name of the login's file: FNV-1a, because the command would take twice as long with the platform's hashes.
 * The file has the client, too, since two may have one name.
 */
function nameOf(known: LoginClient): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(JSON.stringify(known))) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return (hash >>> 0).toString(16);
}

function parseLogin(text: string, wanted: LoginClient): Login | undefined {
  const fields = objectOf(parseJson(text));
  const { token, fromMs, untilMs, refreshToken, tokenUrl, known } = fields;
  if (JSON.stringify(known) !== JSON.stringify(wanted)) return undefined;
  return typeof token === "string" && typeof fromMs === "number" &&
      typeof untilMs === "number" && typeof tokenUrl === "string"
    ? {
      ...{ token, fromMs, untilMs, tokenUrl },
      refreshToken: nonEmptyText(refreshToken),
    }
    : undefined;
}
