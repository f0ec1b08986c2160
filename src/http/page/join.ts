/**
 * Makes one script of ES modules, for a page that is one file. Each keeps a scope of its own and gives the
 * later ones what it exports.
 *
 * It understands what the page's modules use: imports of plain names from siblings, exported functions,
 * classes and constants.
 *
 * @param modules Their texts, each behind those it imports from.
 */
export function joinModules(modules: readonly string[]): string {
  return modules.map(scoped).join("\n");
}

const IMPORT_REGEXP = /^import \{[^}]*\} from "\.\/\w+\.js";\n/gm;
const EXPORT_REGEXP = /^export (?=(?:async )?(?:function|class|const) (\w+))/gm;

function scoped(module: string): string {
  const source = module.replaceAll("\r\n", "\n");
  const names = [...source.matchAll(EXPORT_REGEXP)].map(([, name]) => name);
  const body = source.replace(IMPORT_REGEXP, "").replace(EXPORT_REGEXP, "");
  return names.length === 0
    ? `{\n${body}}\n`
    : `const { ${names.join(", ")} } = (() => {\n${body}return { ${
      names.join(", ")
    } };\n})();\n`;
}
