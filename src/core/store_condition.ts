/** Whether the store that replicas share can be used now. */
export type StoreCondition = "connected" | "away";
