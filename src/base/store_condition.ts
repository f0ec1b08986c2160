/** The state of the store that replicas share, as this gateway sees it. */
export type StoreCondition = "connected" | "away";
