/** The nano-dollars in a dollar. Amounts of money are whole numbers of nano-dollars, so that sums stay exact. */
export const NANOS_PER_DOLLAR = 1_000_000_000;
