import nodeModule from "node:module";
import manifest from "../deno.json" with { type: "json" };
import { commitTime, sourceCommit } from "./commit.ts";

const ROOT = new URL("../", import.meta.url);

/** A relative path of a source file in a string, as in an import or `new URL("./worker.ts", …)`. */
const SOURCE_PATH_REGEXP = /(["'])(\.\.?\/[^"'\n]+)\.ts\1/g;

/** A path of a member's door in a string, such as `"@gateway/base/time/turns"`. */
const DOOR_REGEXP = /(["'])@gateway\/(\w+)(\/[^"'\n]+)?\1/g;

/** What describes a member to Deno and to people. The program in JavaScript is no workspace. */
const ABOUT_A_MEMBER_REGEXP = /\/(?:deno\.json|README\.md)$/;

/** The places of the program that an executable embeds, relative to the repository. */
export interface Program {
  readonly main: string;
  /** What the compiler does not find by imports. */
  readonly included: readonly string[];
}

/**
 * Writes the program that an executable embeds. An executable reads all of itself at each start, so the program is
 * JavaScript: a source file in TypeScript would be there three times, as source, as JavaScript and as a map between them.
 * Spaces replace the types, so that each statement keeps its line and column for the stacks in the log.
 *
 * Deno before 2.9 cannot remove types. The program is then the sources themselves.
 */
export async function writeProgram(): Promise<Program> {
  const canStrip = nodeModule.stripTypeScriptTypes !== undefined;
  const folder = canStrip ? "dist/program/" : "";
  const time = await commitTime();
  const write = async (path: string, text: string) => {
    const file = new URL(`${folder}${path}`, ROOT);
    await Deno.mkdir(new URL("./", file), { recursive: true });
    await Deno.writeTextFile(file, text);
    // An executable has the time of each file, too.
    await Deno.utime(file, time, time);
  };
  if (canStrip) {
    await Deno.remove(new URL(folder, ROOT), { recursive: true })
      .catch(() => {});
    const doors = await readDoors();
    for await (const path of filesIn("src/")) {
      if (ABOUT_A_MEMBER_REGEXP.test(path)) continue;
      const text = await Deno.readTextFile(new URL(path, ROOT));
      if (!path.endsWith(".ts")) await write(path, text);
      else {
        await write(
          path.replace(/ts$/, "js"),
          withoutTypes(withFiles(text, path, doors)),
        );
      }
    }
  }
  const commit = await sourceCommit();
  await write("dist/build.json", `${JSON.stringify({ commit })}\n`);
  const ending = canStrip ? "js" : "ts";
  return {
    main: `${folder}src/tools/main.${ending}`,
    included: [
      `${folder}dist/build.json`,
      `${folder}src/gateway/process/threads/worker.${ending}`,
      `${folder}src/gateway/process/threads/translation_worker.${ending}`,
    ],
  };
}

/** The files behind the doors of the members: `{ base: { "./ids": "./ids.ts" } }`. */
type Doors = Readonly<Record<string, Readonly<Record<string, string>>>>;

async function readDoors(): Promise<Doors> {
  const doors: Record<string, Readonly<Record<string, string>>> = {};
  for (const folder of manifest.workspace) {
    const file = new URL(`${folder}/deno.json`, ROOT);
    const { exports } = JSON.parse(await Deno.readTextFile(file));
    doors[folder.slice("./src/".length)] = exports;
  }
  return doors;
}

/**
 * Returns a source file that imports the files behind the doors. The configuration of the workspace, which names the
 * doors, leads to the sources and not to their JavaScript.
 *
 * @param path The path of the file, such as `src/tools/main.ts`.
 */
export function withFiles(source: string, path: string, doors: Doors): string {
  const up = "../".repeat(path.split("/").length - 2);
  return source.replace(DOOR_REGEXP, (_, quote, member, rest = "") => {
    const file = doors[member]?.[`.${rest}`];
    if (file === undefined) {
      throw new Error(
        `${path} imports @gateway/${member}${rest}: no such door`,
      );
    }
    return `${quote}${up || "./"}${member}/${file.slice("./".length)}${quote}`;
  });
}

/** Returns the JavaScript of a source file: each statement at its line and column, and its imports of JavaScript. */
export function withoutTypes(source: string): string {
  return nodeModule.stripTypeScriptTypes(source)
    .replace(SOURCE_PATH_REGEXP, "$1$2.js$1");
}

async function* filesIn(folder: string): AsyncGenerator<string> {
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))
  ) {
    const path = `${folder}${name}`;
    if (isDirectory) yield* filesIn(`${path}/`);
    else yield path;
  }
}
