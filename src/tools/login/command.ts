import { isSafeUrl } from "@gateway/base/safe_url";
import {
  type Arguments,
  BadArguments,
  command,
  type Run,
} from "../arguments.ts";
import { type CliIo, type CommandSpec, EXIT } from "../command.ts";
import type { IssuerTools } from "./issuer.ts";
import {
  type KeptLogin,
  type Login,
  type LoginClient,
  LoginFault,
  loginFolder,
} from "./kept_login.ts";

const SCOPE = "openid offline_access";

/** The arguments and the help of `login`. */
export const LOGIN: CommandSpec = {
  name: "login",
  summary: "sign in at the company's identity provider, and print a token",
  options: [
    { name: "issuer", value: "URL", summary: "the issuer in gateway.yaml" },
    {
      name: "client",
      value: "ID",
      summary: "the id of the issuer's client for people",
    },
    {
      name: "scope",
      value: "WORDS",
      summary: `the scopes of the token; default ${SCOPE}`,
    },
    {
      name: "audience",
      value: "NAME",
      summary: "the audience, for issuers that choose it by a parameter",
    },
  ],
  details: [
    "On a terminal, the command signs you in unless a kept login is valid. Run by a\nclient, it asks nothing. It keeps the login in a file that only you can read, and gets\nnew tokens by itself.",
  ],
};

/** The tools of {@linkcode runLogin}. */
interface LoginTools extends CliIo, IssuerTools {
  /** True when a person reads standard error. */
  readonly isTyped: () => boolean;
  readonly open: (folder: string, known: LoginClient) => KeptLogin;
}

/**
 * A token that stays valid for longer than this, in milliseconds, is printed and not renewed. A token in the first half
 * of its lifetime is not renewed either. Claude Code and Codex keep a printed token for five minutes.
 */
const ENOUGH_MS = 360_000;

/**
 * The longest wait for another process that renews the token, in milliseconds. Even with a request after the wait, the
 * command ends within the five seconds that Codex allows.
 */
const TURN_MS = 500;

/**
 * `login --issuer URL --client ID`: prints a token for the gateway. If a login is stored, no person is needed: the
 * stored token is printed, or is first renewed with the refresh token. When several processes run at once, only one
 * process renews the token.
 *
 * @returns The exit code.
 */
export const runLogin: Run<LoginTools> = command(LOGIN, async (read, tools) => {
  const known = readOptions(read);
  const folder = loginFolder(tools.env);
  if (folder === undefined) {
    throw new LoginFault("Cannot keep a login: the variable HOME is not set.");
  }
  const kept = tools.open(folder, known);
  const { token } = await currentLogin(known, kept, tools);
  tools.write(`${token}\n`);
  return EXIT.good;
});

async function currentLogin(
  known: LoginClient,
  kept: KeptLogin,
  tools: LoginTools,
): Promise<Login> {
  const before = kept.read();
  if (before !== undefined && isNew(before, tools)) return before;
  // If the renewal fails, the old token is used until it expires.
  const lives = before !== undefined && tools.now() < before.untilMs;
  const renewed = await renew(known, kept, tools).catch((error) => {
    if (error instanceof LoginFault && lives) return undefined;
    throw error;
  });
  if (renewed !== undefined) return renewed;
  if (lives) return before;
  if (!tools.isTyped()) {
    const state = before === undefined
      ? "not signed in"
      : "no longer signed in";
    throw new LoginFault(
      `You are ${state}. Run this in a terminal: ${lineOf(known)}`,
    );
  }
  const { signIn } = await import("./issuer.ts");
  const login = await signIn(known, tools.writeError, tools);
  await kept.write(login);
  return login;
}

/** Returns the login with a new token; `undefined` when a person must sign in. */
function renew(
  known: LoginClient,
  kept: KeptLogin,
  tools: LoginTools,
): Promise<Login | undefined> {
  const startedMs = tools.now();
  return kept.alone(async () => {
    // Another process may have renewed the login while this process waited.
    const login = kept.read();
    if (login === undefined || isNew(login, tools)) return login;
    if (tools.now() - startedMs > TURN_MS) {
      throw new LoginFault("Another process got no answer from the issuer.");
    }
    const { refresh } = await import("./issuer.ts");
    const renewed = await refresh(login, known, tools);
    if (renewed !== undefined) await kept.write(renewed);
    return renewed;
  });
}

function isNew({ fromMs, untilMs }: Login, { now }: LoginTools): boolean {
  return untilMs - now() > Math.min(ENOUGH_MS, (untilMs - fromMs) / 2);
}

function lineOf({ issuer, client, scope, audience }: LoginClient): string {
  return [
    `model-gateway login --issuer ${issuer} --client ${client}`,
    ...(scope === SCOPE ? [] : [`--scope "${scope}"`]),
    ...(audience === undefined ? [] : [`--audience ${audience}`]),
  ].join(" ");
}

function readOptions({ values }: Arguments): LoginClient {
  const issuer = values.get("issuer");
  const client = values.get("client");
  if (issuer === undefined || client === undefined) {
    throw new BadArguments("it needs --issuer and --client");
  }
  if (!isSafeUrl(issuer)) {
    throw new BadArguments("--issuer must be a URL with https:");
  }
  const scope = values.get("scope") ?? SCOPE;
  return { issuer, client, scope, audience: values.get("audience") };
}
