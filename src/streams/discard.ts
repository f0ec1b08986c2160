/** Gives an answer up unread; how its upstream takes that changes nothing. */
export function discard(answer: Response): void {
  answer.body?.cancel().catch(() => {
    // It broke off already.
  });
}
