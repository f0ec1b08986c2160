export async function soakBigAnswers(_o: unknown): Promise<void> {
  await Promise.resolve();
}
