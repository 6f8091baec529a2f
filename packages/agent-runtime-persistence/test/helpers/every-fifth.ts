import type { TestTools } from '@ku0/agent-runtime-conformance'
import { test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'

/**
 * `test` for a suite of the store that is long on its database. The quick tests prove each rule in memory. Among the long tests a landing
 * registers every fifth test, from all sections, and each night all of them; `from` says which fifth.
 */
export function everyFifth(from: number): TestTools['test'] {
  const step = draws(1, 5, 1)
  let count = 0
  const register: TestTools['test'] = test
  return Object.assign(
    (title: string, body: () => Promise<void>) => {
      if (count % step === from % step) register(title, body)
      count += 1
    },
    { skip: test.skip },
  )
}
