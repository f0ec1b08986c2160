import { bearerToken } from "../admission.ts";
import type { Demo } from "../demo.ts";
import type { Provider } from "../providers.ts";
import {
  anthropicQuota,
  codexQuota,
  zaiQuota,
  zaiQuotaRefusal,
} from "./bodies.ts";
import { Refusal } from "../refusal.ts";

/**
 * Answers a question for the quota of a provider's account, in the provider's own shape.
 *
 * @throws {Refusal} For a wrong key at family B.
 */
export function quotaAnswer(
  headers: Headers,
  { provider, demo }: { readonly provider: Provider; readonly demo: Demo },
): Response {
  const account = demo.quota.read(provider.family);
  const isKeyRight = presentedKey(headers) === provider.key;
  switch (provider.family) {
    case "A":
      return Response.json(isKeyRight ? zaiQuota(account) : zaiQuotaRefusal());
    case "B":
      if (!isKeyRight) {
        throw new Refusal("unauthenticated", "Invalid bearer token");
      }
      return Response.json(anthropicQuota(account));
    case "C":
      return isKeyRight
        ? Response.json(codexQuota(account, demo.clock.now()))
        : Response.json({ detail: "Unauthorized" }, { status: 401 });
  }
}

/** Z.ai takes its key without a scheme too. */
function presentedKey(headers: Headers): string | null {
  return bearerToken(headers) ?? headers.get("authorization");
}
