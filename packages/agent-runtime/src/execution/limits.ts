import type { Claim, PastFailures, Settlement } from '@ku0/agent-runtime-core'
import type { UsageProbe } from '../api/profiles.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { SubmissionData } from '../durable/child/submission-data.ts'
import type { Dependant } from '../durable/host.ts'
import type { Deadline } from '../lease/deadlines.ts'
import { ProfileWatch, type WatchParts } from '../lease/watch.ts'
import { termsOf } from '../terms/profile-setting.ts'
import type { LeaseWriter } from './lease-writer.ts'
import type { Parts } from './parts.ts'
import { settle } from './settle.ts'

/** A pass that is held to the limits of its task. */
export interface Limited {
  readonly claim: Claim
  readonly parts: Parts
  readonly lease: Pick<LeaseWriter, 'send'>
  readonly stopped: object | undefined
  readonly handlerEnded: boolean
  /** Measures what the pass uses, where that can be measured. */
  readonly probe?: UsageProbe | undefined
  watch: ProfileWatch | undefined
  /** The model that the task has now. */
  readonly model: string | undefined
  /** The failures of its task so far. */
  readonly past: PastFailures
  settle(settlement: Settlement): void
  timeOut(timeoutMs: number): void
  exceed(message: string): void
  keep(dependant: Dependant): void
  drop(dependant: Dependant): void
}

/** Starts the time limit of a pass, and the watch of its profile. The time limit is returned, if there is one. */
export function holdToLimits(
  attempt: Limited,
  definition: TaskDefinition,
  submission: Pick<SubmissionData, 'profile' | 'timeoutMs'>,
): Deadline | undefined {
  const timeoutMs = submission.timeoutMs ?? definition.timeoutMs
  return startLimit(attempt, definition, timeoutMs, watchProfile(attempt, definition, submission, timeoutMs))
}

/** At the time limit the task ends, whether or not the handler stops. Source: `docs/semantics.md 8.8`. */
function startLimit(
  attempt: Limited,
  definition: TaskDefinition,
  timeoutMs: number | undefined,
  watch: ProfileWatch | undefined,
): Deadline | undefined {
  // A profile with a shorter limit ends the task itself.
  const isLonger = watch !== undefined && watch.terms.grantedMs < (timeoutMs ?? 0)
  if (timeoutMs === undefined || isLonger) return undefined
  const deadline = attempt.parts.deadlines.after(timeoutMs, () => {
    if (attempt.stopped !== undefined) return
    const message = `task '${definition.type}' ran longer than its timeoutMs ${timeoutMs}`
    const error = { name: 'TimeoutError', message, code: 'timeout' }
    watch?.expired('timeout')
    settle(attempt, definition, { as: 'stopped', kind: 'timeout', error }, watch && 'deadline')
    attempt.timeOut(timeoutMs)
  })
  const dependant = {
    stop: () => {
      deadline.cancel()
      attempt.drop(dependant)
    },
  }
  attempt.keep(dependant)
  return deadline
}

/** Holds the attempt to its profile, if its task has one. Source: `docs/semantics.md 10.1, 10.5`. */
function watchProfile(
  attempt: Limited,
  definition: TaskDefinition,
  submission: Pick<SubmissionData, 'profile' | 'timeoutMs'>,
  timeoutMs: number | undefined,
): ProfileWatch | undefined {
  const terms = submission.profile ?? (definition.profile && termsOf(definition.profile, timeoutMs))
  if (terms === undefined) return undefined
  const { leaseId, taskId } = attempt.claim
  const { config, environment, deadlines, log, observers } = attempt.parts
  const write: WatchParts['write'] = (operation) => attempt.lease.send(operation)
  attempt.watch = new ProfileWatch(
    { config, environment, deadlines, log, observers, write },
    {
      leaseId,
      taskId,
      route: definition.type,
      terms,
      probe: attempt.probe,
      left: attempt.claim.left,
      onDeadline: (message) => {
        if (attempt.stopped !== undefined || attempt.handlerEnded) return
        const error = { name: 'RuntimeError', message, code: 'budget_exceeded' }
        settle(attempt, definition, { as: 'stopped', kind: 'budget_exceeded', error }, 'deadline')
        attempt.exceed(message)
      },
      onBreach: (message) => attempt.exceed(message),
    },
  )
  return attempt.watch
}
