/** An agent of the gym's marketplaces: the same number is the same agent everywhere. */
export interface Trader {
  readonly name: string
  readonly cost: number
  readonly domain: string
  readonly capabilities: readonly string[]
  /** How good its work is said to be, 0 to 1. */
  readonly skill: number
}

/** So many agents, of five domains, ten prices and seven skills. */
export function traders(count: number): readonly Trader[] {
  return Array.from({ length: count }, (_, i) => ({
    name: `trader-${i}`,
    cost: 1 + ((i * 7) % 10),
    domain: `domain-${i % 5}`,
    capabilities: ['read', `skill-${i % 7}`],
    skill: ((i * 13) % 10) / 10,
  }))
}

/** What a client asks of a marketplace: a file that is to be read, and by whom. */
export interface JobInput {
  readonly work: string
  readonly needs: readonly string[]
  readonly prefers: readonly string[]
  readonly domain: string
  readonly maxPrice: number
}

export function jobOf(n: number, file: string): JobInput {
  return {
    work: file,
    needs: ['read'],
    prefers: [`skill-${n % 7}`],
    domain: `domain-${n % 5}`,
    maxPrice: 6 + (n % 5),
  }
}

/** The agents that may do a job, by what it asks for. */
export function fitting(count: number, { domain, maxPrice }: JobInput): readonly Trader[] {
  return traders(count).filter((trader) => trader.domain === domain && trader.cost <= maxPrice)
}
