import { createPrivateKey, X509Certificate } from "node:crypto";

/**
 * Whether a private key is known to be another one's than the certificate's, as it is for a moment while both files
 * are being replaced. Of what cannot be read here, the listener is the judge.
 *
 * @param pair PEM texts.
 */
export function isMismatched(
  { cert, key }: { readonly cert: string; readonly key: string },
): boolean {
  try {
    const certificate = new X509Certificate(cert);
    return !certificate.checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
