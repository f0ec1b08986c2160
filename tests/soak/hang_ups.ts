export async function soakHangUps(_o: unknown): Promise<void> {
  await Promise.resolve();
}
