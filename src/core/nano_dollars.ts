/** So many nano-dollars are a dollar: amounts of money are whole numbers of them, so that sums stay exact. */
export const NANOS_PER_DOLLAR = 1_000_000_000;
