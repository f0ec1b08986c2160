import { uuidV5 } from "../src/base/std.ts";
import codex from "../src/gateway/http/codex_models.json" with { type: "json" };
import { type Package, packageUrl } from "./packages.ts";

/** The source of a bill of materials. */
export interface SbomSource {
  readonly version: string;
  /** `undefined` when the source has no history. */
  readonly commit: string | undefined;
  readonly committedAt: Date;
  readonly packages: readonly Package[];
  /** The package URLs of the program's own imports. */
  readonly imported: readonly string[];
  /** The versions of the embedded runtime. */
  readonly runtime: { readonly deno: string; readonly v8: string };
}

/** RFC 9562, appendix A: the namespace of URLs. */
const URL_NAMESPACE = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";

/**
 * Returns the bill of materials of a release, by CycloneDX 1.6 (cyclonedx.org/docs/1.6/json): the
 * program, each embedded package, and the runtime. It depends on its source only.
 */
export async function sbom(source: SbomSource): Promise<object> {
  const { version, commit, committedAt, packages, imported } = source;
  const program = `model-gateway@${version}`;
  const runtime = [...runtimeComponents(source.runtime), codexData];
  const identity = new TextEncoder().encode(
    JSON.stringify([program, commit, source.runtime, packages]),
  );
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${await uuidV5(URL_NAMESPACE, identity)}`,
    version: 1,
    metadata: {
      timestamp: committedAt.toISOString(),
      component: {
        type: "application",
        "bom-ref": program,
        name: "model-gateway",
        version,
        licenses: [{ license: { id: "MIT" } }],
        properties: [{
          name: "model-gateway:commit",
          value: commit ?? "unknown",
        }],
      },
    },
    components: [...packages.map(packageComponent), ...runtime],
    dependencies: [
      {
        ref: program,
        dependsOn: [...imported, ...runtime.map((one) => one["bom-ref"])],
      },
      ...packages.map((one) => ({
        ref: packageUrl(one),
        dependsOn: one.dependsOn,
      })),
    ],
  };
}

function packageComponent(one: Package): object {
  return {
    type: "library",
    "bom-ref": packageUrl(one),
    name: one.name,
    version: one.version,
    purl: packageUrl(one),
    licenses: [licence(one.license)],
    hashes: [{ alg: "SHA-512", content: one.sha512 }],
  };
}

/** Describes a licence: a single one by its id, several by an expression. */
function licence(expression: string): object {
  return /^[\w.+-]+$/.test(expression)
    ? { license: { id: expression } }
    : { expression };
}

/** Codex's own entries of models, which the program embeds (src/gateway/http/codex_models.LICENSE). */
const codexData = {
  ...runtimeComponent("@openai/codex", {
    version: codex.version,
    purl: `pkg:npm/%40openai/codex@${codex.version}`,
    license: "Apache-2.0",
  }),
  type: "data",
};

function runtimeComponents({ deno, v8 }: SbomSource["runtime"]) {
  return [
    runtimeComponent("deno", {
      version: deno,
      purl: `pkg:github/denoland/deno@v${deno}`,
      license: "MIT",
    }),
    runtimeComponent("v8", {
      version: v8,
      purl: `pkg:github/v8/v8@${v8}`,
      license: "BSD-3-Clause",
    }),
  ];
}

function runtimeComponent(
  name: string,
  { version, purl, license }: {
    readonly version: string;
    readonly purl: string;
    readonly license: string;
  },
) {
  return {
    type: "platform",
    "bom-ref": purl,
    name,
    version,
    purl,
    licenses: [licence(license)],
  };
}
