/**
 * The rules of this repository. A member of `src/` imports the members below it only through their doors. Inside a
 * member, a file imports its own folder or a lower layer. Only certain places use itty-router, zod and `Deno.*`. No
 * file uses the rejected words (CONTRIBUTING.md, "The words").
 */

/** The members of `src/` by name, each with the members that it may import. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  codecs: ["base"],
  http1: ["base"],
  json_scan: ["base"],
  page: ["base"],
  services: ["base"],
  gateway: ["base", "codecs", "http1", "json_scan", "page", "services"],
  tools: ["base", "codecs", "http1", "page", "services", "gateway"],
};

/** The rooms of the members that have layers inside. The first match wins. */
const LAYER_BY_PREFIX: readonly (readonly [prefix: string, layer: number])[] = [
  ["base/streams/", 1],
  ["base/", 0],
  ["codecs/mod.ts", 4],
  ["codecs/jobs/", 3.5],
  ["codecs/codecs.ts", 3],
  ["codecs/decode_body.ts", 2],
  ["codecs/kept_request.ts", 2],
  ["codecs/translate_request.ts", 2],
  ["codecs/translate_stream.ts", 2],
  ["codecs/completions/", 3],
  ["codecs/responses_in_chat/", 3],
  ["codecs/dialects/", 1.5],
  ["codecs/openai/", 1.5],
  ["codecs/canonical/", 1],
  // A folder a protocol.
  ["codecs/", 2],
  ["json_scan/", 0],
  ["services/", 0],
  ["http1/mod.ts", 2],
  ["http1/deno/", 2],
  ["http1/client/", 1],
  ["http1/server/", 1],
  ["http1/", 0],
  ["page/page.ts", 3],
  ["page/settings.ts", 3],
  ["page/browser/", 2],
  ["page/wording/", 1],
  ["page/answers.ts", 0],
  ["gateway/process/", 7],
  ["gateway/mod.ts", 7],
  ["gateway/app.ts", 6],
  ["gateway/http/", 5],
  ["gateway/shared/", 5],
  ["gateway/relay/", 4],
  ["gateway/usage/", 3.5],
  ["gateway/catalog/", 3.5],
  ["gateway/upstream/", 3],
  ["gateway/quotas/", 3],
  ["gateway/config/", 2],
  ["gateway/observe/", 2],
  ["tools/demo/", 0],
  ["tools/", 1],
];

/** Packages that only some places of `src/` may import. */
const PLACES_BY_PACKAGE: Readonly<Record<string, RegExp>> = {
  "itty-router": /^gateway\/http\/router\.ts$/,
  "@prometheus-io/client":
    /^gateway\/observe\/(exposition|instruments|prometheus)\.ts$/,
  "jose": /^gateway\/relay\/identity\/(verify_)?jwt\.ts$/,
  "@redis/client": /^gateway\/process\/redis\.ts$/,
  "zod":
    /^(gateway\/(config\/schema\/\w+|quotas\/readers\/\w+|catalog\/model_page|shared\/store\/wire)\.ts|codecs\/\w+\/wire\w*\.ts|tools\/(reconcile\/reports|limits\/read)\.ts)$/,
};

const DENO_PLACES_REGEXP =
  /^(tools\/(?!demo\/)|http1\/deno\/|gateway\/process\/)/;

/** The file that may use races: all of its promises end with the race. */
const RACE_PLACES_REGEXP = /^http1\/deno\/address_race\.ts$/;

/** The files in which rejected words are reported; files about the words are exempt. */
const PLAIN_REGEXP =
  /\/(src|tests)\/(?!(support\/lint_plugin|lint_plugin_test|docs_test)\.ts$)/;

/** The rejected words, in comments, texts and names. */
const REJECTED = /\b(?:tell|tells|telling|told|whoever|whichever|anew)\b/gi;

const plugin: Deno.lint.Plugin = {
  name: "gateway",
  rules: {
    "import-direction": {
      create(context) {
        const file = pathInSource(context.filename);
        if (file === undefined) return {};
        const check = (node: Deno.lint.Node, specifier: unknown) => {
          if (typeof specifier !== "string") return;
          const message = specifier.startsWith(".")
            ? relativeFault(file, resolve(file, specifier))
            : packageFault(file, specifier);
          if (message !== undefined) context.report({ node, message });
        };
        return {
          ImportDeclaration: (node) => check(node, node.source.value),
          ExportAllDeclaration: (node) => check(node, node.source.value),
          ExportNamedDeclaration: (node) => check(node, node.source?.value),
          ImportExpression: (node) =>
            check(
              node,
              node.source.type === "Literal" ? node.source.value : undefined,
            ),
          TSImportType: (node) =>
            check(
              node,
              node.argument.type === "TSLiteralType" &&
                node.argument.literal.type === "Literal"
                ? node.argument.literal.value
                : undefined,
            ),
        };
      },
    },
    "log-instead-of-console": {
      create(context) {
        if (pathInSource(context.filename) === undefined) return {};
        return {
          "MemberExpression[object.name='console']"(node) {
            context.report({
              node,
              message: "Output goes through the log or CliIo",
            });
          },
        };
      },
    },
    "no-lasting-races": {
      create(context) {
        const file = pathInSource(context.filename);
        if (file === undefined) return {};
        return {
          "MemberExpression[object.name='Promise'][property.name=/^(race|any)$/]"(
            node,
          ) {
            if (RACE_PLACES_REGEXP.test(file)) return;
            context.report({
              node,
              message:
                "A race keeps its winner's value until the last of its promises settles: use within(), untilAbort() or settled()",
            });
          },
          "CallExpression[callee.property.name='addEventListener']"(node) {
            const [type, listener, options] = node.arguments;
            if (type?.type !== "Literal" || type.value !== "abort") return;
            const { text } = context.sourceCode;
            const name = listener && context.sourceCode.getText(listener);
            const isRemoved = name !== undefined &&
              text.includes(`removeEventListener("abort", ${name})`);
            const isBounded = options !== undefined &&
              /\bsignal\s*:/.test(context.sourceCode.getText(options));
            if (isRemoved || isBounded) return;
            context.report({
              node,
              message:
                "A signal keeps its listeners: remove this one when its work ends",
            });
          },
        };
      },
    },
    "plain-words": {
      create(context) {
        if (!PLAIN_REGEXP.test(context.filename.replaceAll("\\", "/"))) {
          return {};
        }
        return {
          Program() {
            for (const found of context.sourceCode.text.matchAll(REJECTED)) {
              const { index, 0: word } = found;
              context.report({
                range: [index, index + word.length],
                message:
                  `"${word}" is not used here: see "The words" in CONTRIBUTING.md`,
              });
            }
          },
        };
      },
    },
    "requests-over-our-client": {
      create(context) {
        if (pathInSource(context.filename) === undefined) return {};
        if (context.filename.endsWith(".js")) return {};
        const report = (node: Deno.lint.Node) =>
          context.report({
            node,
            message:
              "The platform's client reads NO_PROXY in its own way: use openNetwork(), or an injected fetch",
          });
        return {
          "Identifier[name='fetch']"(node) {
            const { sourceCode } = context;
            const around = sourceCode.getAncestors(node);
            if (isGlobal(node, around, sourceCode.text)) report(node);
          },
          "MemberExpression[object.name=/^(globalThis|self|window)$/][property.name='fetch']":
            report,
          "MemberExpression[property.name='createHttpClient']": report,
          "NewExpression[callee.name=/^(EventSource|WebSocket|WebSocketStream|XMLHttpRequest)$/]":
            report,
          "ImportDeclaration[source.value=/^(node:)?(http|https|http2)$/]":
            report,
        };
      },
    },
    "deno-at-the-edges": {
      create(context) {
        const file = pathInSource(context.filename);
        if (file === undefined || DENO_PLACES_REGEXP.test(file)) return {};
        return {
          "Identifier[name='Deno']"(node) {
            context.report({
              node,
              message:
                "Deno.* belongs to tools/, http1/deno/ and gateway/process/: inject what is needed",
            });
          },
        };
      },
    },
  },
};

export default plugin;

/** Returns true for a use of the platform's `fetch`: the name is a value, and nothing around it binds it. */
function isGlobal(
  node: Deno.lint.Identifier,
  ancestors: readonly Deno.lint.Node[],
  text: string,
): boolean {
  const { parent } = node;
  const isMember = parent.type === "MemberExpression" &&
    parent.property === node;
  const isKey = "key" in parent && parent.key === node;
  const isPattern = parent.type === "Property" &&
    parent.parent.type === "ObjectPattern";
  const isShort = parent.type === "Property" && parent.shorthand;
  if (isMember || isPattern || isKey && !isShort) return false;
  return !ancestors.flatMap(bindingsOf).some((one) => {
    const type = "typeAnnotation" in one ? one.typeAnnotation : undefined;
    const names = text.slice(one.range[0], type?.range[0] ?? one.range[1]);
    return /\bfetch\b/.test(names);
  });
}

/** Returns the patterns of a function's parameters, and those of a block's variables. */
function bindingsOf(node: Deno.lint.Node) {
  switch (node.type) {
    case "ArrowFunctionExpression":
    case "FunctionDeclaration":
    case "FunctionExpression":
      return node.params;
    case "BlockStatement":
      return node.body.flatMap((one) =>
        one.type === "VariableDeclaration"
          ? one.declarations.map(({ id }) => id)
          : []
      );
    default:
      return [];
  }
}

function pathInSource(filename: string): string | undefined {
  return filename.replaceAll("\\", "/").match(/\/src\/(.*)$/)?.[1];
}

function layerOf(file: string): number | undefined {
  return rowOf(file)?.[1];
}

function rowOf(file: string): (typeof LAYER_BY_PREFIX)[number] | undefined {
  return LAYER_BY_PREFIX.find(([prefix]) => file.startsWith(prefix));
}

function memberOf(file: string): string {
  return file.slice(0, file.indexOf("/"));
}

/** Returns the room of a file: the path of its row or, in `codecs`, the protocol's folder. */
function roomOf(file: string): string | undefined {
  const prefix = rowOf(file)?.[0];
  return prefix === "codecs/" ? file.split("/")[1] : prefix;
}

function resolve(file: string, specifier: string): string {
  return new URL(specifier, `file:///${file}`).pathname.slice(1);
}

function relativeFault(file: string, target: string): string | undefined {
  const own = layerOf(file);
  const other = layerOf(target);
  if (own === undefined) {
    return `src/${file} stands in no layer: add it to the lint plugin`;
  }
  if (other === undefined) {
    return `src/${target} stands in no layer: add it to the lint plugin`;
  }
  const member = memberOf(target);
  if (memberOf(file) !== member) {
    return `src/${file} imports src/${target} around its door: import "@gateway/${member}"`;
  }
  if (other < own || roomOf(file) === roomOf(target)) return undefined;
  return `src/${file} (layer ${own}) imports src/${target} (layer ${other}): import only from the own folder or a lower layer`;
}

/** The name of a package in a specifier, without its registry, version and path. */
const PACKAGE_REGEXP = /^(?:npm:|jsr:)?\/?((?:@[^/]+\/)?[^/@]+)/;

function packageFault(file: string, specifier: string): string | undefined {
  const name = PACKAGE_REGEXP.exec(specifier)?.[1] ?? specifier;
  if (name.startsWith("@gateway/")) {
    const member = memberOf(file);
    const below = MEMBERS[member] ?? [];
    if (below.includes(name.slice("@gateway/".length))) return undefined;
    return `src/${file} imports ${specifier}: ${member} may import ${
      below.join(", ") || "no member"
    }`;
  }
  const places = Object.hasOwn(PLACES_BY_PACKAGE, name)
    ? PLACES_BY_PACKAGE[name]
    : undefined;
  if (places === undefined || places.test(file)) return undefined;
  return `${specifier} is imported in src/${file}: it may stand only in ${places.source}`;
}
