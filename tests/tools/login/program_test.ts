import assert from "node:assert/strict";
import { openLogin } from "../../../src/tools/login/kept_login.ts";
import { runProgram } from "../../support/program/run_program.ts";
import { sourcePath } from "../../support/program/source_files.ts";
import { openIssuer } from "./strict_issuer.ts";

/** Finds the static imports of a file. */
const STATIC_REGEXP = /^(?:import|export)\b(?! type)[^;]*? from "([^"]+)";$/gm;

/** Finds the static and dynamic imports of a file. Deno reads all of them before it runs the file. */
const ANY_REGEXP =
  /(?:^(?:import|export)\b(?! type)[^;]*? from |\bimport\()"([^"]+)"/gm;

async function modulesOf(
  path: string,
  imports: RegExp,
  found = new Set<string>(),
): Promise<ReadonlySet<string>> {
  if (found.has(path)) return found;
  found.add(path);
  const url = new URL(`../../../src/${path}`, import.meta.url);
  const text = await Deno.readTextFile(url);
  for (const [, to = ""] of text.matchAll(imports)) {
    const next = sourcePath(to, url);
    if (next !== undefined) await modulesOf(next, imports, found);
  }
  return found;
}

const ENTRIES = [
  { path: "tools/main.ts", imports: STATIC_REGEXP },
  { path: "tools/login/main.ts", imports: ANY_REGEXP },
];

for (const { path, imports } of ENTRIES) {
  Deno.test(`login loads a small part of the program and no library from ${path}, because clients run it often`, async () => {
    const loaded = await modulesOf(path, imports);
    assert.ok(loaded.has("tools/login/kept_login.ts"));
    assert.ok(loaded.size < 14, [...loaded].join(" "));
    const strangers = [...loaded].filter((path) =>
      /^(gateway|codecs)\b/.test(path)
    );
    assert.deepEqual(strangers, []);
    for (const path of loaded) {
      const url = new URL(`../../../src/${path}`, import.meta.url);
      const text = await Deno.readTextFile(url);
      assert.doesNotMatch(
        text,
        /^import (?!type\b)[^;]*? from "(?!\.|@gateway\/)/m,
        path,
      );
    }
  });
}

Deno.test("login shares one renewal between processes that need a new token at once", async () => {
  const folder = await Deno.makeTempDir();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { method, headers } = request;
      const body = method === "POST" ? await request.text() : null;
      return await strict.fetch(request.url, {
        ...{ method, headers, body },
        redirect: "manual",
      });
    },
  );
  const issuer = `http://127.0.0.1:${server.addr.port}`;
  const strict = openIssuer({ now: Date.now, issuer });
  const known = {
    issuer,
    client: "people",
    scope: "openid offline_access",
    audience: undefined,
  };
  try {
    const kept = openLogin(`${folder}/model-gateway/logins`, known);
    await kept.alone(() =>
      kept.write({
        ...{ token: "a.b.old", fromMs: 0, untilMs: 1 },
        refreshToken: strict.issueRefreshToken(),
        tokenUrl: `${issuer}/token`,
      })
    );
    const args = ["login", "--issuer", issuer, "--client", "people"];
    const runs = await Promise.all(
      Array.from(
        { length: 4 },
        () => runProgram(args, { XDG_STATE_HOME: folder }),
      ),
    );
    for (const run of runs) {
      assert.deepEqual(run, {
        code: 0,
        stdout: "eyJhbGciOiJSUzI1NiJ9.e30.token-1\n",
        stderr: "",
      });
    }
    assert.deepEqual(strict.asked, ["/token"]);
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});
