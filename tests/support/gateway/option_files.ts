import type { LoadResult } from "../../../src/gateway/config/load.ts";
import { connectionFile, loadFile, minimalFile, tokenFile } from "./config.ts";
import { identityFile } from "./identity_scene.ts";
import type { Overrides } from "./option_faults.ts";

/** An address. */
export const A = "https://a.example/v1";

/** Another address. */
export const B = "https://b.example/v1";

/** A window of a quota. */
const WINDOW = { type: "TOKENS_LIMIT", unit: "tokens", limit: "/a" };

/** A quota of the kind `json`. */
export const JSON_QUOTA = { kind: "json", url: A, windows: [WINDOW] };

/** A quota of a team plan. */
export const TEAM = { kind: "zai", plan: "team" };

const FAST = { when: { speed: "fast" } };

/** Returns the keys of a connection with the addresses of its service. */
export const preset = (service: string): Overrides => ({
  ...{ service, family: undefined, endpoints: undefined },
});

/** The connections of files that do not set `connections`. */
const CONNECTIONS = ["main", "other"].map((name, at) =>
  connectionFile({
    ...preset("zai"),
    ...{ name, region: ["eu", "us"][at] },
    models: ["a", "b"].map((id) => ({ id, price: { input: 1, output: 1 } })),
  })
);

/**
 * The other keys of the mapping at a path, for the options in it. With a dot at the end, for options deeper inside it.
 */
const BESIDE: Readonly<Record<string, Overrides>> = {
  "shared": { url: "rediss://a.example" },
  "connections[]": connectionFile(),
  "connections[].endpoints": { chat: A },
  "connections[].auth": {},
  "connections[].auth.keys[]": { key: "k" },
  "connections[].quota.": JSON_QUOTA,
  "connections[].quota.windows[]": WINDOW,
  "connections[].models[]": { id: "a" },
  "connections[].models[].aliases[]": { id: "x" },
  "connections[].models[].price": {
    ...{ input: 1, cached_input: 1, cache_write: 1, output: 1 },
  },
  "connections[].models[].price.": { input: 1, output: 1 },
  "connections[].models[].price.rates[]": FAST,
  "connections[].models[].price.rates[].": { times: 2 },
  "tokens[]": tokenFile(),
  "identity[]": identityFile(),
  "identity[].sign_in": { client: "a" },
  "identity[].rules[]": { connections: ["*"] },
};

/** Returns the top-level keys of a file with a value of an option. */
export function fileWith(
  path: string,
  value: unknown,
  beside?: Overrides,
): Overrides {
  const whole = { connections: CONNECTIONS, groups: { a: {}, b: {} } };
  return put(whole, path.split("."), "");

  function put(
    mapping: Overrides,
    [key = "", ...rest]: readonly string[],
    above: string,
  ): Overrides {
    if (rest.length === 0) return { ...mapping, ...beside, [key]: value };
    const place = `${above}${key}`;
    const start = rest.length > 1 ? BESIDE[`${place}.`] : undefined;
    const inner = put(start ?? BESIDE[place] ?? {}, rest, `${place}.`);
    const name = key.replace("[]", "");
    const more = name === "models" ? ["b"] : [];
    return { ...mapping, [name]: key === name ? inner : [inner, ...more] };
  }
}

/** Files that a row may name: a certificate, its key, and the key of a provider. */
const FILES: Readonly<Record<string, string>> = {
  c: "CERTIFICATE-----",
  k: "PRIVATE KEY-----",
  f: "key-of-a-file",
  g: "key-of-another-file",
  j: `{"keys":[{"kty":"RSA"}]}`,
};

/** Loads a file with these top-level keys. */
export async function load(overrides: Overrides): Promise<LoadResult> {
  return await loadFile(minimalFile(overrides), {
    readFile: (path) => Promise.resolve(FILES[path] ?? ""),
  });
}
