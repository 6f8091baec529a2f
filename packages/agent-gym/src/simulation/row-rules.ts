import type { ExecutionConfig } from '@ku0/agent-runtime-core'
import type { LiveLease, Stream } from './stored-rows.ts'
import { COMPLETED, type Followed, nameOf, QUEUED, RUNNING } from './followed.ts'
import { type Broken } from './findings.ts'

type Tasks = ReadonlyMap<number, Followed>

/** I14: the depth that is kept is the number of tasks that are queued. */
export function* countRules(tasks: Tasks, streams: readonly Stream[]): Iterable<Broken> {
  const queued = new Map<number, number>()
  for (const { row } of tasks.values())
    if (row.state === QUEUED && row.stream !== null) queued.set(row.stream, (queued.get(row.stream) ?? 0) + 1)
  for (const { id, depth, delayed } of streams)
    if (depth + delayed !== (queued.get(id) ?? 0))
      yield ['I14', `stream ${id} counts ${depth} and ${delayed} delayed, ${queued.get(id) ?? 0} are queued`]
}

/** I19: counters are their holders, and no more run than may. */
export function* quotaRules(
  tasks: Tasks,
  quotas: readonly { readonly key: string; readonly queued: number; readonly running: number }[],
  most: ReadonlyMap<string, number>,
): Iterable<Broken> {
  const held = new Map<string, { queued: number; running: number }>()
  for (const { row, quotaKeys } of tasks.values()) {
    if (row.state > RUNNING || quotaKeys === '[]') continue
    for (const key of JSON.parse(quotaKeys) as string[]) {
      const sum = held.get(key) ?? { queued: 0, running: 0 }
      sum[row.state === RUNNING ? 'running' : 'queued'] += 1
      held.set(key, sum)
    }
  }
  for (const { key, queued, running } of quotas) {
    const own = held.get(key) ?? { queued: 0, running: 0 }
    if (own.queued !== queued || own.running !== running)
      yield ['I19', `quota ${key} counts ${queued} and ${running}, held by ${own.queued} and ${own.running}`]
    if (own.running > (most.get(key) ?? Number.POSITIVE_INFINITY))
      yield ['I19', `quota ${key} is held by ${own.running} running tasks`]
  }
}

/** I22: nobody's child that ends with its parent outlives it. */
export function* familyRules(
  tasks: Tasks,
  numberOf: (taskId: string) => number | undefined,
): Iterable<Broken> {
  for (const { row, policyOfChildren } of tasks.values()) {
    if (row.state < COMPLETED || policyOfChildren.size === 0) continue
    for (const [taskId, policy] of policyOfChildren) {
      const child = tasks.get(numberOf(taskId) ?? 0)
      if (policy === 'cancel' && child !== undefined && child.row.state < COMPLETED)
        yield [
          'I22',
          `task ${row.id} is ${nameOf(row.state)}, its child ${child.row.id} is ${nameOf(child.row.state)}`,
        ]
    }
    policyOfChildren.clear()
  }
}

/** A task that was started in a commit. */
export interface Started {
  readonly id: number
  readonly lane: number
  readonly type: string
  readonly lease: number
}

/** From so many crashes on a task may be what ends its processes. */
export function suspectFrom(maxCrashes: number): number {
  return (maxCrashes + (maxCrashes % 2)) / 2
}

/** 3.9: of tasks that may be what ends their processes, a process runs one at a time. */
export function* suspectRules(
  tasks: Tasks,
  leases: Iterable<LiveLease>,
  { maxCrashes }: ExecutionConfig,
): Iterable<Broken> {
  const runs = new Map<number, number>()
  for (const { task, process } of leases) {
    if ((tasks.get(task)?.row.crashes ?? 0) < suspectFrom(maxCrashes)) continue
    const other = runs.get(process)
    if (other !== undefined) yield ['3.9', `the suspects ${other} and ${task} run in process ${process}`]
    runs.set(process, task)
  }
}

/**
 * I12: of the tasks that could start, those started first that come first. Where a quota holds some back, the others are compared; what
 * is queued behind a suspect of its stream waits with it.
 */
export function* orderRules(
  tasks: Tasks,
  started: readonly Started[],
  { maxCrashes, shares }: ExecutionConfig,
  lacksCredits: (found: Followed) => boolean,
): Iterable<Broken> {
  // With shares who comes next within a lane is for them to say.
  const isInLine = shares === undefined
  const free = started.filter(({ id }) => tasks.get(id)?.quotaKeys === '[]')
  const inOrder = free.toSorted((a, b) => a.lease - b.lease)
  for (const [index, next] of inOrder.entries()) {
    const before = inOrder[index - 1]
    if (before !== undefined && isAfter(before, next, isInLine))
      yield ['I12', `task ${before.id} of lane ${before.lane} started before ${next.id} of lane ${next.lane}`]
  }
  const last = inOrder.at(-1)
  if (last === undefined) return
  for (const { row, lane } of readyTasks(tasks, maxCrashes, lacksCredits)) {
    if (isAfter(last, { id: row.id, lane }, isInLine))
      yield ['I12', `task ${last.id} of lane ${last.lane} started, ${row.id} of lane ${lane} was before it`]
  }
}

/** What could start wherever there is a slot: no quota has a say, and nothing that is suspect or lacks credits comes before it in its stream. */
export function readyTasks(
  tasks: Tasks,
  maxCrashes: number,
  lacksCredits: (found: Followed) => boolean,
): readonly Followed[] {
  const queued = [...tasks.values()].filter(({ row }) => row.state === QUEUED && row.dueAt === null)
  const held = new Map<number | null, number>()
  for (const found of queued) {
    const { row } = found
    if (row.crashes >= suspectFrom(maxCrashes) || lacksCredits(found))
      held.set(row.stream, Math.min(row.id, held.get(row.stream) ?? row.id))
  }
  return queued.filter(
    ({ row, quotaKeys }) => quotaKeys === '[]' && row.id < (held.get(row.stream) ?? Number.POSITIVE_INFINITY),
  )
}

function isAfter(
  a: { id: number; lane: number },
  b: { id: number; lane: number },
  isInLine: boolean,
): boolean {
  return a.lane > b.lane || (isInLine && a.lane === b.lane && a.id > b.id)
}

/** What a commit brought of submissions, by their numbers. */
export interface Submitted {
  readonly accepted: readonly number[]
  readonly refused: readonly { readonly id: number; readonly reason: string }[]
  /** The depth that the first of them met. */
  readonly depth: number
}

/** I13: at the depth that each submission met, it was rightly accepted or refused. */
export function* depthRules(
  tasks: Tasks,
  { accepted, refused, depth: met }: Submitted,
  { queueDepthLimit, batchBackpressureThreshold }: ExecutionConfig,
): Iterable<Broken> {
  const limits = new Map([
    ['queue_full', queueDepthLimit],
    ['backpressure', batchBackpressureThreshold],
  ])
  const reasons = new Map(refused.map(({ id, reason }) => [id, reason]))
  let depth = met
  for (const id of [...accepted, ...reasons.keys()].toSorted((a, b) => a - b)) {
    const reason = reasons.get(id)
    if (reason !== undefined) {
      if (depth < (limits.get(reason) ?? 0))
        yield ['I13', `task ${id} was refused (${reason}) at depth ${depth}`]
      continue
    }
    const lane = tasks.get(id)?.lane
    if (depth >= queueDepthLimit || (lane === 2 && depth >= batchBackpressureThreshold))
      yield ['I13', `task ${id} of lane ${lane} was accepted at depth ${depth}`]
    depth += 1
  }
}
