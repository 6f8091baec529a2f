import type { Explanation } from '@ku0/agent-runtime'
import { isEscalation } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import type { Connection } from '../remote.ts'
import { taskIn } from '../task-id.ts'
import { noTask } from '../missing-task.ts'
import { recoveryWords } from '../screen/recovery-words.ts'
import { shownKey } from '../screen/keys.ts'
import { agreementText } from '../screen/agreement.ts'
import { nextCommand } from '../screen/shell.ts'
import { pairs } from '../screen/table.ts'
import { stateText } from '../screen/tasks.ts'
import { ago, count, dated, lasting, many } from '../screen/words.ts'

export const run: Run = async ({ args: [given = ''], options, print, settings, system }) => {
  await using client = await connect(await settings())
  const taskId = await taskIn(client, given)
  const told = await client.explain(taskId)
  if (told === undefined) throw noTask(taskId)
  const {
    state,
    summary,
    model,
    stage,
    until,
    ahead,
    start,
    requeued,
    failure,
    children,
    stepFailures = [],
  } = told
  const { since: askedSince } = told.credits ?? {}
  // JSON has what the runtime says, and nothing more.
  const isAsked = !print.isJson && told.reason === 'approval'
  const asked = isAsked ? (await client.approvals.list({ task: taskId })).approvals : []
  const refused = !print.isJson && state === 'failed' ? await refusalOf(client, taskId) : undefined
  print.answer(told, () => [
    summary.startsWith(state) ? summary : [stateText(state), ': ', summary],
    ...pairs([
      ['model', model],
      ['agreement', agreementText(told)],
      ['stage', stage],
      ['until', until === undefined ? undefined : `${dated(until)} (${ago(until, system.now())})`],
      ...asked.map(
        ({ approvalId }) =>
          ['answer it', nextCommand(['approvals', 'approve', approvalId], options)] as const,
      ),
      [
        'asked',
        askedSince === undefined ? undefined : `${dated(askedSince)} (${ago(askedSince, system.now())})`,
      ],
      ['ahead', ahead === undefined ? undefined : count(ahead)],
      ['starts', start === undefined ? undefined : startText(start)],
      ['requeued', requeued === undefined ? undefined : requeuedText(requeued)],
      ['refused', refused],
      ['error', failure === undefined || summary.includes(failure.message) ? undefined : failure.message],
      ...(failure?.causes ?? [])
        .filter(({ message }) => !summary.includes(message))
        .map(({ message }) => ['because', message] as const),
      ...several(stepFailures).map(({ step, message }) => ['failed', `step ${step}: ${message}`] as const),
      ...several(children?.first ?? []).map(
        ({ key, taskId: child, state: childState, waitsFor, summary: wait }) =>
          [
            'child',
            `${shownKey(key)}, task ${child}, ${wait ?? `${childState}${waitsFor === undefined ? '' : ` (${waitsFor})`}`}`,
          ] as const,
      ),
    ]),
  ])
  return 0
}

/** One alone stands in the summary. */
function several<T>(all: readonly T[]): readonly T[] {
  return all.length > 1 ? all : []
}

/** The no of a person who was asked whether the task is to go on after its failure. */
async function refusalOf(client: Connection, taskId: string): Promise<string | undefined> {
  const trail = await client.approvals.trail(taskId)
  const no = trail.findLast(({ key, outcome }) => isEscalation(key) && outcome === 'rejected')
  if (no === undefined) return undefined
  const { by = 'a person', feedback } = no
  return `by ${by}${feedback === undefined ? '' : `: ${feedback}`}`
}

function requeuedText({ times, last, decided }: NonNullable<Explanation['requeued']>): string {
  const why =
    last.recovery === undefined ? requeueWords[last.reason] : `it failed: ${recoveryWords(last.recovery)}`
  const before = decided === undefined ? '' : `; before that it failed: ${recoveryWords(decided.recovery)}`
  return `${many(times, 'time')}, last because ${why}${before}`
}

const requeueWords: Readonly<Record<NonNullable<Explanation['requeued']>['last']['reason'], string>> = {
  expired: 'its worker did not renew its lease',
  owner_dead: 'the process of its worker died',
  retry: 'it failed and is tried again',
  rate_limited: 'a provider refused it for now',
  yielded: 'it gave its slot to another task',
  drained: 'its worker was drained',
  restarted: 'its supervisor restarted it',
}

function startText({ startsInMs, restsOn }: NonNullable<Explanation['start']>): string {
  if (startsInMs !== null) return `in about ${lasting(startsInMs)}`
  if (restsOn.as !== 'nothing') return 'unknown'
  switch (restsOn.because) {
    case 'paused':
      return 'unknown: it is paused'
    case 'no_worker':
      return 'unknown: no worker runs its type'
    case 'no_recent_starts':
      return 'unknown: nothing started lately'
    case 'no_credits':
      return 'unknown: its client lacks credits'
    case 'other_tasks':
      return 'unknown: it depends on the end of other tasks'
  }
}
