import { isMapping, listAt, textAt } from "@gateway/base/problems";
import { readYaml } from "../config/load.ts";
import { INCLUDE } from "../config/places.ts";
import { isIncludePattern } from "../config/schema/config_file.ts";
import { beside, findFiles, readText } from "./config_file.ts";

/** The names in a configuration file and in the files that it includes, before variables are expanded. */
export interface WrittenNames {
  /** The file that contains each token, by the name of the token. */
  readonly tokens: ReadonlyMap<string, string>;
  /** True for each group with a `connections` list. `undefined` when the groups are not known. */
  readonly groups: ReadonlyMap<string, boolean> | undefined;
  /** The names of the connections. `undefined` when they are not known. */
  readonly connections: ReadonlySet<string> | undefined;
}

/**
 * Reads the names in a configuration file. Skips included files that cannot be read: the file that is being written may
 * be among them.
 *
 * @throws The platform's error when the file itself cannot be read.
 * @returns The names; `undefined` when the file is not a mapping in YAML.
 */
export async function readWrittenNames(
  path: string,
): Promise<WrittenNames | undefined> {
  const main = treeIn(await readText(path));
  if (!isMapping(main)) return undefined;
  const trees = new Map<string, unknown>([[path, main]]);
  for (const pattern of listAt(main, INCLUDE)) {
    if (typeof pattern !== "string" || !isIncludePattern(pattern)) continue;
    const folder = beside(path, "");
    const files = await findFiles({ pattern, folder }).catch(() => []);
    for (const file of files) {
      const text = await readText(beside(path, file)).catch(() => "");
      trees.set(file, treeIn(text));
    }
  }
  const namesIn = (tree: unknown, list: string) =>
    listAt(tree, list).flatMap((entry) => textAt(entry, "name") ?? []);
  return {
    tokens: new Map(
      [...trees].flatMap(([file, tree]) =>
        namesIn(tree, "tokens").map((name) => [name, file] as const)
      ),
    ),
    groups: new Map(
      [...trees.values()].flatMap((tree) =>
        isMapping(tree) && isMapping(tree.groups)
          ? Object.entries(tree.groups).map(([name, group]) =>
            [name, isMapping(group) && "connections" in group] as const
          )
          : []
      ),
    ),
    connections: new Set(namesIn(main, "connections")),
  };
}

function treeIn(text: string): unknown {
  const yaml = readYaml(text);
  return "problem" in yaml ? undefined : yaml.value;
}
