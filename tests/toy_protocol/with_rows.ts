import assert from "node:assert/strict";
import { dirname } from "node:path";
import { DOORS, SOURCE } from "../support/program/source_files.ts";
import type { Row } from "./rows.ts";

const ROOT = new URL("../../", import.meta.url);

/** An import map that adds rows to tables of the source. */
export interface PatchedSource extends AsyncDisposable {
  /** The path of the import map. */
  readonly path: string;
}

/** Writes copies of the tables with `rows`, and an import map that replaces the tables with them. */
export async function withRows(rows: readonly Row[]): Promise<PatchedSource> {
  const folder = await Deno.makeTempDir({ prefix: "toy_protocol" });
  const { imports } = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", ROOT)),
  );
  for (const [file, ours] of Map.groupBy(rows, ({ file }) => file)) {
    const url = new URL(`src/${file}`, ROOT);
    const copy = `${folder}/${file}`;
    const text = ours.reduce(insert, await Deno.readTextFile(url));
    await Deno.mkdir(dirname(copy), { recursive: true });
    await Deno.writeTextFile(copy, withAddresses(text, url));
    imports[url.href] = `file://${copy}`;
  }
  for (const [member, paths] of DOORS) {
    for (const [path, file] of Object.entries(paths)) {
      const { href } = new URL(`${member}/${file}`, SOURCE);
      // The address in an import map is not looked up in the map again.
      imports[`@gateway/${member}${path.slice(1)}`] = imports[href] ?? href;
    }
  }
  const path = `${folder}/import_map.json`;
  await Deno.writeTextFile(path, JSON.stringify({ imports }));
  return {
    path,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

function insert(text: string, { file, behind, text: row }: Row): string {
  const [before, after, ...others] = text.split(behind);
  assert.ok(
    after !== undefined && others.length === 0,
    `${behind} stands not once in ${file}`,
  );
  return `${before}${behind}\n${row}\n${after}`;
}

/** Makes relative imports absolute, because the copy is in another folder. */
function withAddresses(text: string, url: URL): string {
  return text.replaceAll(
    /(?<=from |import\()"(\.[^"]+)"/g,
    (_, path) => JSON.stringify(new URL(path, url).href),
  );
}
