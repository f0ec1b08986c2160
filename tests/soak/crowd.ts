export async function soakCrowd(_o: unknown): Promise<void> {
  await Promise.resolve();
}
