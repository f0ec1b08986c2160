/**
 * `deno task outdated`: lists the packages of both locks that are deprecated, yanked or, where the source names them,
 * behind the registry's latest version. Exits with 1 for a deprecated or yanked one. Where the registry cannot be
 * reached, it says so and exits with 0. It ends within a minute.
 */
import { lockedPackages, packageStates } from "./locked_packages.ts";

const REGISTRY = "https://registry.npmjs.org/";

const LOCKS = ["../deno.lock", "../tests/deno.lock"];

const deadline = AbortSignal.timeout(50_000);

/** Reads the registry's text about a name. */
async function readRegistry(name: string): Promise<string | undefined> {
  try {
    const response = await fetch(REGISTRY + name.replace("/", "%2F"), {
      headers: { accept: "application/vnd.npm.install-v1+json" },
      signal: deadline,
    });
    if (response.ok) return await response.text();
    await response.body?.cancel();
    // The registry knows the name no more: nothing of it can be installed.
    return response.status === 404
      ? '{"dist-tags":{"latest":"none"},"versions":{}}'
      : undefined;
  } catch {
    return undefined;
  }
}

const texts = await Promise.all(
  LOCKS.map((lock) => Deno.readTextFile(new URL(lock, import.meta.url))),
);
const states = await packageStates(lockedPackages(texts), {
  read: readRegistry,
});
for (const { name, version, latest, fault, isNamed } of states) {
  if (fault !== undefined) {
    console.log(`${name} ${version} is ${fault}. Use ${latest}.`);
  } else if (isNamed && latest !== undefined && latest !== version) {
    console.log(`${name} ${version} is behind: ${latest}.`);
  }
}
const unread = states.filter(({ latest }) => latest === undefined);
if (unread.length > 0) {
  console.log(
    `Cannot read ${unread.length} of ${states.length} packages from ${REGISTRY}: they are not checked.`,
  );
}
if (states.some(({ fault }) => fault !== undefined)) Deno.exit(1);
