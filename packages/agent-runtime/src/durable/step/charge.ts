import { RuntimeError, type Usage, usageSum } from '@ku0/agent-runtime-core'
import { mayCharge, type Step } from './step-moves.ts'
import type { UsageTab } from '../usage-tab.ts'

/**
 * Charges the run of a step with the usage of its try `tried`. Throws once that try has ended. Source:
 * `docs/semantics.md 11.5`.
 */
export function chargeTry(
  tab: UsageTab,
  run: object,
  { key, step, tried }: { readonly key: string; readonly step: Step; readonly tried: number },
  usage: Usage,
): void {
  const sum = usageSum('charge', usage)
  if (!mayCharge(step, tried))
    throw new RuntimeError(
      'step_outside_handler',
      `step '${key}' has ended: charge what it used before its function returns`,
    )
  tab.chargeRun(run, sum)
}
