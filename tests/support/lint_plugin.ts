/**
 * The rules of this repository. A file of `src/` imports its own folder or a lower layer, never a neighbour on the same
 * layer. itty-router, zod and `Deno.*` stay in their places. Rejected words (CONTRIBUTING.md, "The words") stay out.
 */

/** The first match wins. */
const LAYER_BY_PREFIX: readonly (readonly [prefix: string, layer: number])[] = [
  ["tools/main.ts", 8],
  ["cli/", 7],
  ["gateway/app.ts", 6],
  ["http/", 5],
  ["shared/", 5],
  ["relay/", 4],
  ["demo/", 4],
  ["codecs/mod.ts", 3],
  ["codecs/decode_body.ts", 2],
  ["codecs/kept_request.ts", 2],
  ["codecs/translate_request.ts", 2],
  ["codecs/translate_stream.ts", 2],
  ["protocols/completions/", 3],
  ["protocols/responses_in_chat/", 3],
  ["upstream/", 3],
  ["usage/", 3.5],
  ["quotas/", 3],
  ["catalog/", 3.5],
  ["config/", 2],
  ["observe/", 2],
  ["protocols/dialects/", 1.5],
  ["protocols/openai/", 1.5],
  ["protocols/canonical/", 1],
  // A folder a protocol.
  ["protocols/", 2],
  ["streams/", 1],
  ["json_scan/", 1],
  ["core/", 0],
];

/** Packages that only some places of `src/` may import. */
const PLACES_BY_PACKAGE: Readonly<Record<string, RegExp>> = {
  "itty-router": /^http\/router\.ts$/,
  "prom-client": /^observe\/(exposition|instruments|prometheus)\.ts$/,
  "jose": /^relay\/identity\/(jwt|key_sets)\.ts$/,
  "@redis/client": /^cli\/server\/redis\.ts$/,
  "zod":
    /^(config\/schema\/\w+\.ts|protocols\/\w+\/wire\w*\.ts|quotas\/readers\/\w+\.ts|catalog\/model_page\.ts|shared\/store\/wire\.ts|cli\/reconcile\/reports\.ts)$/,
};

const DENO_PLACES_REGEXP = /^(main\.ts|cli\/.*)$/;

/** A file in which all promises of a race end with it. */
const RACE_PLACES_REGEXP = /^cli\/server\/address_race\.ts$/;

/** The files whose words are held to CONTRIBUTING.md; those about the words name them. */
const PLAIN_REGEXP =
  /\/(src|tests)\/(?!(support\/lint_plugin|lint_plugin_test|docs_test)\.ts$)/;

/** In comments, texts and names alike. */
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
              "The platform's client reads NO_PROXY in its own way: use openNetworkClient(), or an injected fetch",
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
                "Deno.* belongs to main.ts and cli/: inject what is needed",
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
  return LAYER_BY_PREFIX.find(([prefix]) =>
    file === prefix || file.startsWith(prefix)
  )?.[1];
}

function folderOf(file: string): string {
  const parts = file.split("/");
  return parts.slice(0, parts[0] === "protocols" ? 2 : 1).join("/");
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
  if (other < own || folderOf(file) === folderOf(target)) return undefined;
  return `src/${file} (layer ${own}) imports src/${target} (layer ${other}): import only from the own folder or a lower layer`;
}

/** The name of a package in a specifier, without its registry, version and path. */
const PACKAGE_REGEXP = /^(?:npm:|jsr:)?\/?((?:@[^/]+\/)?[^/@]+)/;

function packageFault(file: string, specifier: string): string | undefined {
  const name = PACKAGE_REGEXP.exec(specifier)?.[1] ?? specifier;
  const places = Object.hasOwn(PLACES_BY_PACKAGE, name)
    ? PLACES_BY_PACKAGE[name]
    : undefined;
  if (places === undefined || places.test(file)) return undefined;
  return `${specifier} is imported in src/${file}: it may stand only in ${places.source}`;
}
