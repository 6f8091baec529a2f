import type { Runtime } from '@ku0/agent-runtime'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { LINE_VERSION } from '@ku0/agent-runtime-persistence/lines'
import { endpoints } from '../src/routes/endpoints.ts'
import type { Call } from './served.ts'

/** A request that a route answers well. */
export interface Good {
  readonly path: string
  readonly body?: unknown
  /** Where the scene holds nothing that it could act on, the problem that it is answered with. */
  readonly status?: number
}

/** Tasks in every state, and a good request for every route. */
export async function setScene(
  store: ExecutionStore,
  runtime: Runtime,
  call: Call,
): Promise<ReadonlyMap<string, Good>> {
  const ids = [
    'done',
    'failed',
    'lasting',
    'canceled',
    'signaled',
    'asking',
    'asking-too',
    'spends',
    'spends-too',
  ]
  const [done, failed, lasting, canceled, signaled, asking, askingToo, spends, spendsToo] = ids
  await runtime.submitMany([
    { task: 'add', input: { a: 1, b: 2 }, options: { taskId: done, client: 'acme' } },
    { task: 'fail', input: null, options: { taskId: failed } },
    ...[lasting, canceled, signaled].map((taskId) => ({ task: 'wait', input: null, options: { taskId } })),
    ...[asking, askingToo].map((taskId) => ({ task: 'ask', input: null, options: { taskId } })),
    ...[spends, spendsToo].map((taskId) => ({
      task: 'spend',
      input: null,
      options: { taskId, budget: { steps: 5, soft: { steps: 1 } } },
    })),
  ])
  await runtime.submit('watch-over', null, { taskId: 'supervisor' })
  for await (const { type } of runtime.events('supervisor')) if (type === 'task.waiting') break
  const { taskId: ended } = await runtime.supervisors.start('supervisor', 'ended', 'speak', 0)
  await runtime.result(ended)
  await runtime.submit('search', 3, { taskId: 'pipeline' })
  for await (const { sequence } of runtime.pipeline('pipeline').events()) if (sequence === 2) break
  // Its first stage has no room for a third event, and its second waits for a signal.
  for (const { tasks } of (await runtime.pipeline('pipeline').status()).stages)
    for await (const { type } of runtime.events(tasks[0]?.taskId ?? '')) if (type === 'task.waiting') break
  await runtime.result('done')
  await runtime.result('failed').catch(() => {})
  for (const taskId of ids.slice(2))
    for await (const { type } of runtime.events(taskId)) if (type === 'task.waiting') break
  await runtime.schedules.put('nightly', { cron: '0 3 * * *' }, 'speak', 1)
  await runtime.clients.set('acme', { credits: 10 })
  await runtime.clients.set('gone', {})
  await runtime.accessTokens.put('old', { hash: 'ab'.repeat(32), scopes: ['read'] })
  await runtime.evaluations.record('ann', { quality: 1 })

  const approvals = (await runtime.approvals.list()).approvals
  const approvalOf = (task: string) =>
    encodeURIComponent(approvals.find(({ taskId }) => taskId === task)?.approvalId ?? '')
  const counted = await call('POST', '/tasks:bulk', { action: 'retry', filter: { types: ['fail'] } })
  const { connection } = (await call('POST', '/line/connections', { frames: [], from: 0 })).json as {
    readonly connection: string
  }
  const hello = {
    version: LINE_VERSION,
    session: 'a secret that is long enough for a line',
    processId: 'p',
    workers: [],
    leases: [],
    interest: { types: [], tasks: [] },
  }
  await call('POST', `/line/connections/${connection}`, { frames: [JSON.stringify({ hello })], from: 0 })
  const bulk = `/tasks:bulk/${counted.json?.token}`
  const verification = `/verifications/${(await call('POST', '/verifications', {})).json?.id}`
  await call('DELETE', verification)
  const registered = (await call('POST', '/workers', { types: ['foreign'] })).json
  const foreign = { type: 'foreign', lane: 'interactive' as const, input: '{"n":1}', taskId: 'foreign' }
  await store.write({ kind: 'submit', tasks: [foreign] })
  const requesting = `/workers/${registered.workerId}`
  const [{ leaseId }] = (await call('POST', `${requesting}/claims`, {})).json.claims
  const lease = `${requesting}/leases/${leaseId}`
  const error = { name: 'Error', message: 'broken' }

  const [{ workerId } = { workerId: '' }] = await runtime.workers()
  const worker = encodeURIComponent(workerId)

  const acts: Record<string, Good> = {
    receiveFrames: { path: `/line/connections/${connection}?after=0` },
    openConnection: { path: '/line/connections', body: { frames: [], from: 0 } },
    sendFrames: { path: `/line/connections/${connection}`, body: { frames: [], from: 1 } },
    registerWorker: { path: '/workers', body: { types: ['foreign'] } },
    claimTasks: { path: `${requesting}/claims`, body: { held: [leaseId], waitMs: 0 } },
    heartbeat: { path: `${requesting}/heartbeat`, body: { held: [leaseId] } },
    recordStep: {
      path: `${lease}/steps`,
      body: { as: 'failed', call: 1, key: 'a', position: 0, error, retry: 1 },
    },
    emitOutput: { path: `${lease}/output`, body: { call: 2, chunks: ['a'] } },
    waitFor: {
      path: `${lease}/waits`,
      body: { call: 3, waits: [{ kind: 'sleep', key: 's', position: 1, ms: 0 }] },
    },
    settleTask: { path: `${lease}/settle`, body: { as: 'completed', call: 4, output: 1 } },
    removeWorker: { path: requesting },
    showSupervised: { path: '/tasks/supervisor/supervised' },
    startSupervised: {
      path: '/tasks/supervisor/supervised',
      body: { id: 'third', task: 'wait', input: 1, options: { restart: 'permanent' } },
    },
    stopSupervised: { path: '/tasks/supervisor/supervised/first/stop' },
    restartSupervised: { path: '/tasks/supervisor/supervised/ended/restart' },
    showPipeline: { path: '/pipelines/pipeline' },
    pipelineEvents: { path: '/pipelines/pipeline/events?types=foundAt' },
    submitTask: { path: '/tasks', body: { task: 'speak', input: 1, options: { labels: { a: 'b' } } } },
    submitTasks: { path: '/tasks:batch', body: { tasks: [{ task: 'speak', input: 0 }] } },
    showResult: { path: '/tasks/done/result?waitMs=1' },
    cancelTask: { path: '/tasks/canceled/cancel', body: { reason: 'enough' } },
    retryTask: { path: '/tasks/failed/retry' },
    forkTask: { path: '/tasks/done/fork', body: { edits: { sum: 9 } } },
    signalTask: { path: '/tasks/signaled/signal', body: { name: 'go' } },
    resumeTask: { path: '/tasks/lasting/resume', status: 409 },
    countBulk: { path: '/tasks:bulk', body: { action: 'cancel', filter: { types: ['nothing'] } } },
    startBulk: { path: bulk },
    showBulk: { path: bulk },
    stopBulk: { path: bulk },
    showApproval: { path: `/approvals/${approvalOf('asking')}` },
    approve: { path: `/approvals/${approvalOf('asking')}/approve`, body: { by: 'ann' } },
    reject: { path: `/approvals/${approvalOf('asking-too')}/reject`, body: { feedback: 'no' } },
    approvalTrail: { path: '/tasks/asking/approvals' },
    showBudget: { path: '/tasks/spends/budget' },
    continueBudget: { path: '/tasks/spends/budget/continue', body: { raise: { steps: 1 } } },
    stopBudget: { path: '/tasks/spends-too/budget/stop' },
    listAgreements: { path: '/agreements' },
    setClient: { path: '/clients/acme', body: { credits: 20, tier: 'contracted' } },
    purchaseCredits: { path: '/clients/acme/credits', body: { amount: 5, key: 'order 1' } },
    removeClient: { path: '/clients/gone' },
    putSchedule: {
      path: '/schedules/hourly',
      body: { timing: { everyMs: 3_600_000 }, task: 'speak', input: 0 },
    },
    drainWorker: { path: `/workers/${worker}/drain` },
    pauseQueue: { path: '/queue/pause', body: { types: ['nothing'], lanes: [] } },
    resumeQueue: { path: '/queue/resume', body: { types: ['nothing'] } },
    // The settings of the scene have no rules.
    prune: { path: '/prune', body: { dryRun: true }, status: 400 },
    startVerification: { path: '/verifications', body: { maxFaults: 1 } },
    showVerification: { path: verification },
    stopVerification: { path: verification },
    undrainWorker: { path: `/workers/${worker}/undrain` },
    removeSchedule: { path: '/schedules/hourly' },
    createToken: {
      path: '/tokens',
      body: { name: 'new', scopes: ['read'], expiresAt: '2999-01-01T00:00:00.000Z' },
    },
    revokeToken: { path: '/tokens/old' },
    showReport: { path: '/reports/main.json' },
    recordEvaluation: { path: '/agents/ann/evaluations', body: { scores: { quality: 0.5 } } },
  }
  return new Map(endpoints.map(({ id, path }) => [id, acts[id] ?? { path: usual(path) }]))
}

/** A path with the names of the scene. */
function usual(path: string): string {
  return path
    .replace('{taskId}', 'done')
    .replace('{schedule}', 'nightly')
    .replace('{client}', 'acme')
    .replace('{agent}', 'ann')
}
