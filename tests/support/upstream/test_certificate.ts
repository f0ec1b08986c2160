const FOLDER = new URL("../../fixtures/tls/", import.meta.url);

/** A self-signed certificate for `localhost` and 127.0.0.1, with its key. Only tests use them. */
export const testCertificate = {
  cert: await Deno.readTextFile(new URL("cert.pem", FOLDER)),
  key: await Deno.readTextFile(new URL("key.pem", FOLDER)),
};

/** A second one, to replace the first. */
export const nextTestCertificate = {
  cert: await Deno.readTextFile(new URL("next_cert.pem", FOLDER)),
  key: await Deno.readTextFile(new URL("next_key.pem", FOLDER)),
};

/** A certificate of `openssl req -x509`: an authority's, which a server must not use. */
export const authorityCertificate = {
  cert: await Deno.readTextFile(new URL("authority_cert.pem", FOLDER)),
  key: await Deno.readTextFile(new URL("authority_key.pem", FOLDER)),
};
