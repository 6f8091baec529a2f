import type { Explanation } from '@ku0/agent-runtime'

type Recovered = NonNullable<NonNullable<Explanation['requeued']>['last']['recovery']>

/** The recovery from a failure, in words. */
export function recoveryWords({ strategy, model, task }: Recovered): string {
  switch (strategy) {
    case 'restart':
      return 'restarted'
    case 'retry_with_backoff':
      return 'tried again after a back-off'
    case 'retry_with_feedback':
      return 'tried again with feedback'
    case 'fallback_agent':
      return task === undefined ? `fell back to model ${String(model)}` : `handed over to ${task}`
    case 'human_escalation':
      return 'a person is asked'
  }
}
