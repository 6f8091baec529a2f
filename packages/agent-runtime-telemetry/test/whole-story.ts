import type { Scene } from './scene.ts'

/** Everything that can happen to tasks, so that everything the catalogue has comes up. */
export function tellWholeStory(scene: Scene): void {
  scene.quotas = [{ key: 'model:big', queued: 0, running: 1 }]
  scene.registered = [{ workerId: 'w', processId: 'process-1', inFlight: 1 }]
  scene.known = [{ route: 'review', pressure: 0.25, scar: 1.5, circuit: 'half_open' }]
  scene.found = [{ what: 'no worker', type: 'review', tasks: 2 }]
  succeedOnSecondLease(scene)
  goWrong(scene)
  giveWay(scene)
  scene.publishOwn('lease.lost', 'a', { leaseId: 'lease-1', workerId: 'w' })
  scene.publish('task.leaked', 'a', { leaseId: 'lease-1', afterMs: 30_000 })
  scene.publish('task.killed', 'a', { leaseId: 'lease-1', afterMs: 30_000 })
  scene.handlerStopped({ taskId: 'a', leaseId: 'l', reason: 'canceled', afterMs: 30_000, leaked: true })
}

function succeedOnSecondLease(scene: Scene): void {
  scene.queued('a', { trace: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } })
  scene.publish('credits.asked', 'a', lackOfCredits)
  scene.publish('agreement.missed', 'a', { agreement: 'gold', lateMs: 1, latencyMs: 9 })
  const lost = scene.started('a')
  scene.step('a', 'one', 10)
  scene.expired('a', lost)
  const leaseId = scene.started('a', { attempt: 2 })
  scene.publishOwn('step.replayed', 'a', { key: 'one', position: 0 })
  scene.step('a', 'two', 10, 1)
  scene.completed('a', leaseId)
}

function goWrong(scene: Scene): void {
  scene.publish('task.rejected', 'b', {
    type: 'review',
    lane: 'normal',
    reason: 'queue_full',
    message: 'full',
  })
  scene.queued('c')
  const leaseId = scene.started('c')
  const error = { name: 'TypeError', code: 'bad', message: 'hunter2' }
  scene.publish('step.failed', 'c', { key: 'one', position: 0, error, durationMs: 10 })
  scene.failed('c', leaseId, error)
}

function giveWay(scene: Scene): void {
  const data = { attempt: 1, reason: 'yielded', leaseId: scene.started('d') } as const
  scene.publish('task.requeued', 'd', data, { also: ['lease.released', 'task.preempted'] })
  scene.publish('supervisor.restarted', 'd', { child: 'e', count: 1, stopped: [], strategy: 'one_for_one' })
  const recovery = { category: 'crash', kind: 'error', strategy: 'restart' } as const
  const again = { attempt: 2, reason: 'retry', leaseId: scene.started('d'), recovery } as const
  scene.publish('task.requeued', 'd', again, { also: ['lease.released', 'task.recovered'] })
}

/** The data of `credits.asked`. */
export const lackOfCredits = { asked: 5, client: 'ada', credits: 2, entry: 1, missing: 3, tasks: 1 }
