import type { ExecutionConfig, Environment, ExecutionStore } from '@ku0/agent-runtime-core'

/** The part of a test runner that the suite uses, as vitest has it; core itself knows no runner. */
export interface TestTools {
  readonly describe: (name: string, body: () => void) => void
  readonly test: {
    (name: string, body: () => Promise<void>): void
    skip(name: string, body: () => Promise<void>): void
  }
  readonly expect: (value: unknown, message?: string) => Matchers
}

/** The matchers that the suite uses. */
export interface Matchers {
  toBe(expected: unknown): void
  toEqual(expected: unknown): void
  toMatchObject(expected: object): void
  toContain(expected: unknown): void
  toHaveLength(expected: number): void
  toBeDefined(): void
  toBeUndefined(): void
  toBeGreaterThan(expected: number): void
  toBeCloseTo(expected: number, digits?: number): void
  readonly not: Omit<Matchers, 'not'>
}

/** The options that the suite opens a store with. */
export interface Opening {
  readonly config: ExecutionConfig
  /** Virtual time; a store that cannot run on it ignores this, and reports that by `time: 'real'`. */
  readonly environment: Environment
}

/** Opens a new, empty store. */
export type OpenStore = (opening: Opening) => Promise<ExecutionStore>
