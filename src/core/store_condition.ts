/** The state of the gateway's connection to the store that replicas share. */
export type StoreCondition = "connected" | "away";
