export async function soakSlowClients(_o: unknown): Promise<void> {
  await Promise.resolve();
}
