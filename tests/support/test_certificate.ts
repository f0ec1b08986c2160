const FOLDER = new URL("../fixtures/tls/", import.meta.url);

/**
 * A certificate for `localhost` and 127.0.0.1 that nobody vouches for, and its key, which protects nothing:
 * made for the tests alone.
 */
export const testCertificate = {
  cert: await Deno.readTextFile(new URL("cert.pem", FOLDER)),
  key: await Deno.readTextFile(new URL("key.pem", FOLDER)),
};
