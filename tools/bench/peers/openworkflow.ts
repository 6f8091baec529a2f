import { join } from 'node:path'
import { OpenWorkflow } from 'openworkflow'
import { nothing, runSteps, waitFirst, type Open, type Place } from '../system.ts'

/** `sqlite` syncs before each answer, as it does by itself. */
export function openworkflow(store: 'postgres' | 'sqlite'): Open {
  return async ({ place, job, atOnce = 100 }) => {
    const backend = await connect(store, place)
    const ow = new OpenWorkflow({ backend })
    const bench = ow.defineWorkflow<{ n: number }, null>({ name: 'bench' }, async ({ input, step }) => {
      await waitFirst(job ?? nothing, input.n, () =>
        step.waitForSignal({ signal: `go ${input.n}`, timeout: '1 day' }),
      )
      await runSteps(job ?? nothing, input.n, (name, run) => step.run({ name }, async () => run() as number))
      return null
    })
    const worker = job === undefined ? undefined : ow.newWorker({ concurrency: atOnce })
    return {
      submit: (n) => bench.run({ n }),
      wake: (n) => ow.sendSignal({ signal: `go ${n}` }),
      waiting: () => countWaiting(store, place),
      start: async () => worker?.start(),
      close: async () => {
        await worker?.stop()
        await backend.stop()
      },
    }
  }
}

/** Only the driver of the store that is used has to load. */
async function connect(store: 'postgres' | 'sqlite', { url, folder }: Place) {
  if (store === 'postgres') return (await import('openworkflow/postgres')).BackendPostgres.connect(url)
  return (await import('openworkflow/sqlite')).BackendSqlite.connect(join(folder, 'openworkflow.db'))
}

/** Runs that nobody holds, and that have begun a wait which is not over. */
async function countWaiting(store: 'postgres' | 'sqlite', { url, folder }: Place): Promise<number> {
  const query = (schema: string) => `SELECT count(*) AS count FROM ${schema}workflow_runs r
    JOIN ${schema}step_attempts s ON s.namespace_id = r.namespace_id AND s.workflow_run_id = r.id
    WHERE r.worker_id IS NULL AND s.kind = 'signal-wait' AND s.status = 'running'`
  if (store === 'postgres') {
    const sql = (await import('postgres')).default(url, { max: 1 })
    const [row] = await sql.unsafe<[{ count: string }]>(query('openworkflow.'))
    await sql.end()
    return Number(row.count)
  }
  const { DatabaseSync } = await import('node:sqlite')
  const db = new DatabaseSync(join(folder, 'openworkflow.db'), { readOnly: true })
  const row = db.prepare(query('')).get() as { count: number }
  db.close()
  return row.count
}
