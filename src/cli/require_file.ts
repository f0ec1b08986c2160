/** A path names a FIFO, a socket or a device, which may keep its reader waiting forever. */
export class NotRegularFileError extends Error {
  override readonly name = "NotRegularFileError";

  constructor() {
    super("it is a FIFO, a socket or a device, not a regular file");
  }
}

/** What the program was started with is open already, such as the pipe of a shell's `<(command)`. */
const OWN_DESCRIPTOR_REGEXP = /^\/(dev\/stdin|(dev|proc\/self)\/fd\/\d+)$/;

/**
 * Makes sure that opening a path does not wait: it names a regular file, or a descriptor that the program was started
 * with. A directory is left to whoever opens it, since that fails at once.
 *
 * @throws {NotRegularFileError} When it names anything else.
 * @throws What the platform throws where there is nothing, or it may not be seen.
 */
export async function requireFile(path: string): Promise<void> {
  const { isFile, isDirectory } = await Deno.stat(path);
  if (!isFile && !isDirectory && !OWN_DESCRIPTOR_REGEXP.test(path)) {
    throw new NotRegularFileError();
  }
}
