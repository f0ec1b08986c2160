import type { FileDigest } from "./checksums.ts";

/** The sources of a provenance statement. */
export interface ProvenanceSource {
  /** 40 hexadecimal digits, with `-dirty` behind them when files differ; `undefined` without a history. */
  readonly commit: string | undefined;
  /** The SHA-256 of `deno.lock`, in hexadecimal digits. */
  readonly lockSha256: string;
  /** The SHA-256 of the compiler's base, when a file of this machine is the base. */
  readonly baseSha256: string | undefined;
  /** The versions of the runtime. */
  readonly runtime: { readonly deno: string; readonly v8: string };
  /** The files of the release. */
  readonly files: readonly FileDigest[];
}

/**
 * Returns the provenance of a release: an in-toto statement (in-toto.io/Statement/v1) with a SLSA
 * predicate (slsa.dev/spec/v1.0/provenance). It names the commit, the lock, Deno, the command, and
 * every file by its digest. It has no time and no name of a machine, so two builds agree.
 */
export function provenance(source: ProvenanceSource): object {
  const { commit, lockSha256, baseSha256, runtime, files } = source;
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: files.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:model-gateway:deno-task-release:v1",
        externalParameters: {
          command: `npx -y deno@${runtime.deno} task release`,
        },
        internalParameters: {},
        resolvedDependencies: [
          ...commitDependencies(commit),
          { name: "deno.lock", digest: { sha256: lockSha256 } },
          {
            name: "deno",
            uri: `pkg:github/denoland/deno@v${runtime.deno}`,
          },
          ...(baseSha256 === undefined
            ? []
            : [{ name: "DENORT_BIN", digest: { sha256: baseSha256 } }]),
        ],
      },
      runDetails: {
        builder: { id: "urn:model-gateway:builder:local", version: runtime },
      },
    },
  };
}

/** Returns the source. An annotation marks one that differs from its commit, so that nobody trusts it by mistake. */
function commitDependencies(commit: string | undefined): readonly object[] {
  if (commit === undefined) return [];
  const gitCommit = commit.replace("-dirty", "");
  return [{
    name: "source",
    digest: { gitCommit },
    ...(commit === gitCommit ? {} : { annotations: { dirty: true } }),
  }];
}
