import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk'
import { nothing, runSteps, type Open } from '../system.ts'

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const version = 'bench'

/** A queue that is looked at every 10 ms. A process that comes back under the same id recovers its workflows when it launches. */
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
      await runSteps(job ?? nothing, n, (name, run) => DBOS.runStep(async () => run(), { name }))
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
      await DBOS.startWorkflow(bench, { queueName: 'bench' })(n)
    },
    start: launch,
    close: async () => {
      if (launched !== undefined) await DBOS.shutdown()
    },
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
