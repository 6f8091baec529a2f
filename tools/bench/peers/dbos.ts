import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk'
import postgres from 'postgres'
import { runSteps, waitFirst, type Open } from '../system.ts'

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const version = 'bench'

/** It would give up after a minute. */
const patience = { timeoutSeconds: 86_400 }

/** A queue that is looked at every 10 ms. A process that comes back under the same id recovers its workflows when it launches. What waits is started without the queue, since it would hold a place there. */
export const dbos: Open = async ({ place, job, atOnce = 200 }) => {
  if (job === undefined) return submitter(place.url)
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: place.url,
    systemDatabasePoolSize: 20,
    applicationVersion: version,
    executorID: 'bench',
    logger: quiet,
  })
  const bench = DBOS.registerWorkflow(
    async (n: number) => {
      await waitFirst(job, n, () => DBOS.recv(undefined, patience))
      await runSteps(job, n, (name, run) => DBOS.runStep(async () => run(), { name }))
    },
    { name: 'bench' },
  )
  let launched: Promise<unknown> | undefined
  /** It runs what it finds as soon as it is launched. */
  const launch = () =>
    (launched ??= (async () => {
      await DBOS.launch()
      await DBOS.registerQueue('bench', { workerConcurrency: atOnce, minPollingIntervalMs: 10 })
    })())
  return {
    submit: async (n) => {
      await launch()
      const options = job.waits?.(n) === true ? { workflowID: `wait-${n}` } : { queueName: 'bench' }
      await DBOS.startWorkflow(bench, options)(n)
    },
    wake: (n) => DBOS.send(`wait-${n}`, 'go'),
    // A wait stores the time at which it gives up, as a step.
    waiting: () =>
      countOf(
        place.url,
        `SELECT count(*)::int AS count FROM dbos.workflow_status s
          JOIN dbos.operation_outputs o ON o.workflow_uuid = s.workflow_uuid
          WHERE s.status = 'PENDING' AND o.function_name = 'DBOS.sleep'`,
      ),
    start: launch,
    close: async () => {
      if (launched !== undefined) await DBOS.shutdown()
    },
  }
}

async function countOf(url: string, query: string): Promise<number> {
  const sql = postgres(url, { max: 1 })
  try {
    const [row] = await sql.unsafe<[{ count: number }]>(query)
    return row.count
  } finally {
    await sql.end()
  }
}

async function submitter(url: string) {
  await DBOS.migrate(url)
  const client = await DBOSClient.create({
    systemDatabaseUrl: url,
    systemDatabasePoolSize: 20,
    applicationName: 'bench',
    logger: quiet,
  })
  return {
    submit: (n: number) =>
      client.enqueue({ workflowName: 'bench', queueName: 'bench', appVersion: version }, n),
    start: () => Promise.reject(new Error('this process only submits')),
    close: () => client.destroy(),
  }
}
