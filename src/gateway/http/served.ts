import type { IncomingRequest } from "@gateway/http1";
import type { ModelCatalog } from "../catalog/model_catalog.ts";
import type { Config } from "../config/config.ts";
import type { LiveConfig } from "../config/live_config.ts";
import type { StoreCondition } from "@gateway/base/store_condition";
import type { HeaderFields } from "@gateway/base/header_fields";
import type { QuotaService } from "../quotas/service.ts";
import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { Tracing } from "../observe/tracing.ts";
import type { Identity } from "../relay/identity/identity.ts";
import type { Holds } from "../relay/exchange.ts";
import type { RelayServices } from "../relay/services.ts";
import type { UsageService } from "../usage/service.ts";
import type { AttributionReader } from "./attribution.ts";
import type { SignInService } from "./sign_in.ts";

/** The parts of the gateway. */
export interface GatewayParts extends RelayServices {
  readonly liveConfig: LiveConfig;
  readonly identity: Pick<Identity, "callerOf">;
  readonly catalog: ModelCatalog;
  readonly quotas: QuotaService;
  readonly usage: UsageService;
  readonly log: Log;
  /**
   * The time from the start of a request until the gateway listens for a disconnect, in milliseconds; 0 means at once.
   */
  readonly followAfterMs: number;
  /** Absent when replicas share no store. */
  readonly sharedStore?: (() => StoreCondition) | undefined;
  /** Absent when metrics are disabled. */
  readonly metrics?: Metrics | undefined;
  /** Absent when traces are disabled. */
  readonly tracing?: Tracing | undefined;
}

/** A request with the context that serves it. */
export interface Served {
  readonly request: IncomingRequest;
  /** The headers of the request. */
  readonly headers: HeaderFields;
  readonly record: RequestRecord;
  readonly holds: Holds;
  /** The configuration for the whole request, even after a reload. */
  readonly config: Config;
  readonly parts: GatewayParts;
  readonly attribution: AttributionReader;
  readonly signIn: SignInService;
}

/** The facts of a request that a function reads, and the parts of the gateway that the function may use. */
export type Needs<Fact extends keyof Served, Part extends keyof GatewayParts> =
  & Pick<Served, Fact>
  & { readonly parts: Pick<GatewayParts, Part> };
