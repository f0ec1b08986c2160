import { nonEmptyText, objectOf, parseJson } from "@gateway/base/json";
import { CommandFailed } from "../arguments.ts";

/** The error of a command that has no token. The message consists of whole sentences. */
export class LoginFault extends CommandFailed {
  override readonly name = "LoginFault";
}

/** A program that people sign in to. The issuer knows the program by these values. */
export interface LoginClient {
  readonly issuer: string;
  readonly client: string;
  readonly scope: string;
  /** The audience to request. Some issuers set the token's audience by this parameter. */
  readonly audience: string | undefined;
}

/** A login, as it is stored in its file. Times are in milliseconds since 1970. */
export interface Login {
  readonly token: string;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly refreshToken: string | undefined;
  readonly tokenUrl: string;
}

/** The stored login of one client on this machine. */
export interface KeptLogin {
  /**
   * Returns the login; `undefined` when there is none. Each method throws {@linkcode LoginFault} when the system does
   * not allow to read or write the file.
   */
  read(): Login | undefined;
  write(login: Login): Promise<void>;
  /**
   * Runs a task while this process holds the login's lock. All processes share this lock. Fails if the login cannot be
   * written.
   */
  alone<Result>(task: () => Promise<Result>): Promise<Result>;
}

/** Returns the folder of the user's logins; `undefined` when the environment names no home folder. */
export function loginFolder(
  env: (name: string) => string | undefined,
): string | undefined {
  const home = env("HOME");
  const base = env("XDG_STATE_HOME") || env("LOCALAPPDATA") ||
    home && `${home}/.local/state`;
  return base ? `${base}/model-gateway/logins` : undefined;
}

/**
 * Opens the file of a login. Only the user may read the folder and its files (modes 700 and 600). The system holds the
 * lock and releases it when the process ends.
 */
export function openLogin(folder: string, known: LoginClient): KeptLogin {
  const path = `${folder}/${nameOf(known)}.json`;
  const mode = 0o600;
  const refuse = (error: unknown): never => {
    const [reason = ""] = String(error).replace(/^\w+: /, "").split(" (");
    throw new LoginFault(
      `Cannot keep a login in ${folder}: ${reason}. Make it a folder of yours, or set XDG_STATE_HOME to another.`,
    );
  };
  return {
    read() {
      try {
        return parseLogin(Deno.readTextFileSync(path), known);
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return undefined;
        return refuse(error);
      }
    },
    async write(login) {
      const draft = `${path}.${Deno.pid}`;
      await Deno.writeTextFile(draft, JSON.stringify({ ...login, known }), {
        mode,
      }).catch(refuse);
      await Deno.rename(draft, path).catch(refuse);
    },
    async alone(task) {
      const own = { recursive: true, mode: 0o700 };
      await Deno.mkdir(folder, own).catch(refuse);
      const options = { create: true, write: true, mode };
      using file = await Deno.open(`${path}.lock`, options).catch(refuse);
      // The lock file may be from an earlier run, so it does not prove that the folder accepts a new file.
      await Deno.remove(await Deno.makeTempFile({ dir: folder }).catch(refuse));
      await file.lock(true);
      return await task();
    },
  };
}

/**
 * Returns the name of the login's file: a hash of the client. The hash is FNV-1a, because with the platform's hashes
 * the command would take twice as long. Two clients may have the same hash, so the file also holds the client.
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
