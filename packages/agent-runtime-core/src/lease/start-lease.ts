import { laneRank } from '../task/lane.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import { CALLER } from './caller.ts'
import { grantLease } from '../queue/grant.ts'
import { leftOf } from '../profile/left.ts'
import { hold, streamOf } from '../queue/stream.ts'
import { startQuotas } from '../quota/hold.ts'
import { submitOne } from '../submit/submit.ts'
import { unused } from '../swarm/agents.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * A task and its live lease in one commit: what runs is the caller's own, under a lease like any other. It is never queued, and nobody
 * else can run it. Source: rfc-0010-workload-profiles, The Lease Pattern; `docs/semantics.md 10.1`.
 */
export function startLease(ws: WorkingSet, it: Write<'startLease'>): OutcomeOf<'startLease'> {
  const receipt = submitOne(ws, { ...it.submission, held: true })
  if (!receipt.accepted || receipt.deduplicated) return { as: 'refused', receipt }
  const queued = ws.taskNow({ id: receipt.sequence })
  const { at, leaseAt } = ws.now
  const { lane, type } = it.submission
  const id = ws.nextLease++
  const leaseId = ws.ids.lease(id)
  const fence = ws.around.fenceFloor + 1
  const task = ws.move(
    queued,
    { state: 'running', lease: id, fence, startedAt: at },
    'task.started',
    `{"attempt":1,"dispatch":${id},"fencingToken":${fence},"lane":"${lane}","leaseId":"${leaseId}","type":${JSON.stringify(type)},"waitMs":0,"workerId":"caller"}`,
    ['lease.acquired'],
  )
  hold(ws, queued, 'queued', 'running')
  startQuotas(ws, queued, ws.stream(streamOf(queued)))
  grantLease(ws, task, id, CALLER)
  const usage = ws.usage(task.id) ?? {
    ...unused,
    task: task.id,
    route: type,
    terms: it.submission.profile,
    laneRank: laneRank[lane],
  }
  ws.putUsage({ ...usage, lease: id })
  const started = { taskId: receipt.taskId, leaseId, sequence: task.id, acquiredAt: leaseAt }
  return { as: 'started', ...started, ...(usage.swarm === null ? {} : { left: leftOf(ws, usage) }) }
}
