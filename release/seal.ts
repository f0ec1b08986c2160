import { checksums, fileDigests, sha256Of } from "./checksums.ts";
import { sourceCommit } from "./commit.ts";
import { provenance } from "./provenance.ts";

const ROOT = new URL("../", import.meta.url);

/** The variable that names the file of the private key which signs a release. */
export const KEY_VARIABLE = "RELEASE_SIGNING_KEY";

/** The namespace of the signatures, so that no signature for another purpose passes. */
export const NAMESPACE = "model-gateway";

/** The name of the provenance statement. */
export const PROVENANCE_FILE = "model-gateway.intoto.json";

/**
 * Completes a release: writes the provenance of its files, `SHA256SUMS` of all files, and the signature of `SHA256SUMS`.
 *
 * @param options.folder The folder with every other file of the release.
 * @param options.key The path of a private key of SSH; without one, nothing is signed.
 * @param options.base The path of the compiler's base, when a file of this machine is the base.
 * @returns A line for people about the signature.
 * @throws {Error} When the key cannot sign.
 */
export async function sealRelease(
  { folder, key, base }: {
    readonly folder: URL;
    readonly key: string | undefined;
    readonly base: URL | undefined;
  },
): Promise<string> {
  const statement = provenance({
    commit: await sourceCommit(),
    lockSha256: await sha256Of(new URL("deno.lock", ROOT)),
    baseSha256: base && await sha256Of(base),
    runtime: { deno: Deno.version.deno, v8: Deno.version.v8 },
    files: await fileDigests(folder),
  });
  await Deno.writeTextFile(
    new URL(PROVENANCE_FILE, folder),
    `${JSON.stringify(statement, null, 2)}\n`,
  );
  const sums = new URL("SHA256SUMS", folder);
  await Deno.writeTextFile(sums, await checksums(folder));
  if (key === undefined || key === "") {
    return `SHA256SUMS is not signed: no key is given. Set ${KEY_VARIABLE} to the path of an SSH key.`;
  }
  const signature = await sign(await Deno.readFile(sums), key);
  await Deno.writeFile(new URL("SHA256SUMS.sig", folder), signature);
  return "SHA256SUMS.sig is the signature of SHA256SUMS.";
}

/** Returns the signature of a text, in the format of `ssh-keygen -Y sign`. */
async function sign(
  text: Uint8Array<ArrayBuffer>,
  key: string,
): Promise<Uint8Array> {
  const child = startSigning(key);
  const writer = child.stdin.getWriter();
  // A key that cannot be read ends the program before it has read the text.
  await writer.write(text).then(() => writer.close()).catch(() => {});
  const { success, stdout, stderr } = await child.output();
  if (success) return stdout;
  const report = new TextDecoder().decode(stderr).trim();
  throw new Error(
    `Cannot sign SHA256SUMS: ${report}. Set ${KEY_VARIABLE} to the path of an SSH key.`,
  );
}

function startSigning(key: string): Deno.ChildProcess {
  try {
    return new Deno.Command("ssh-keygen", {
      args: ["-Y", "sign", "-q", "-n", NAMESPACE, "-f", key],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  } catch (cause) {
    throw new Error(
      "Cannot sign SHA256SUMS: ssh-keygen cannot be run. Install OpenSSH.",
      { cause },
    );
  }
}
