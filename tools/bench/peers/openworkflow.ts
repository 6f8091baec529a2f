import { join } from 'node:path'
import { OpenWorkflow } from 'openworkflow'
import { nothing, runSteps, type Open } from '../system.ts'

/** `sqlite` syncs before each answer, as it does by itself. */
export function openworkflow(store: 'postgres' | 'sqlite'): Open {
  return async ({ place, job, atOnce = 100 }) => {
    const backend = await connect(store, place)
    const ow = new OpenWorkflow({ backend })
    const bench = ow.defineWorkflow<{ n: number }, null>({ name: 'bench' }, async ({ input, step }) => {
      await runSteps(job ?? nothing, input.n, (name, run) => step.run({ name }, async () => run() as number))
      return null
    })
    const worker = job === undefined ? undefined : ow.newWorker({ concurrency: atOnce })
    return {
      submit: (n) => bench.run({ n }),
      start: async () => worker?.start(),
      close: async () => {
        await worker?.stop()
        await backend.stop()
      },
    }
  }
}

/** Only the driver of the store that is used has to load. */
async function connect(store: 'postgres' | 'sqlite', { url, folder }: { url: string; folder: string }) {
  if (store === 'postgres') return (await import('openworkflow/postgres')).BackendPostgres.connect(url)
  return (await import('openworkflow/sqlite')).BackendSqlite.connect(join(folder, 'openworkflow.db'))
}
