import type { Expectation } from './expectation.ts'
import type { Scenario } from './scenario.ts'

/**
 * What must hold in every scenario, whatever else it is about: nothing lost, invented, repeated or left behind. Where only
 * rows are read back there are no histories to look at.
 */
export function standingExpectations({ evidence }: Pick<Scenario, 'evidence'>): readonly Expectation[] {
  const always = ['lost', 'invented', 'duplicateEffects', 'leaks']
  const withHistory = [
    'missingEffects',
    'strayEffects',
    'reordered',
    'changedIdempotencyKeys',
    'ledgerFaults',
    'wrongResults',
    'historyFaults',
  ]
  return [...always, ...(evidence === 'full' ? withHistory : [])].map((measure) => ({ measure, equals: 0 }))
}
