import { decideConfiguration, StoreError, type ConfigurationRecord } from '@ku0/agent-runtime-core'
import type { Queries } from '../views/queries.ts'
import type { Db } from './open.ts'
import { storedObject } from './stored.ts'
import { insertInto } from './put.ts'

/** The rows of {@link decideConfiguration}. */
export const configurationsText = `SELECT id, settings,
  (SELECT count(*) FROM process WHERE configuration = configuration.id AND ended_at IS NULL) AS processes
  FROM configuration ORDER BY id`

/** Reads which settings processes state. */
export function prepareConfigurationLoad(db: Queries) {
  const last = db
    .prepare<[], number | null>(
      'SELECT max(configuration) FROM process WHERE ended_at IS NULL AND configuration IS NOT NULL',
    )
    .pluck()
  const states = db
    .prepare<[], readonly [process: number, configuration: number]>(
      'SELECT id, configuration FROM process WHERE ended_at IS NULL AND configuration IS NOT NULL',
    )
    .raw()
  const text = db.prepare<[number], string>('SELECT settings FROM configuration WHERE id = ?').pluck()
  const records = db
    .prepare<[], RecordColumns>(
      `SELECT configuration.id, configuration.settings, configuration.since, process.process_id, process.host, process.pid
       FROM process JOIN configuration ON configuration.id = process.configuration
       WHERE process.ended_at IS NULL AND process.configuration IS NOT NULL ORDER BY configuration.id DESC, process.id`,
    )
    .raw()
  return {
    /** Those in force; undefined where no living process states any. */
    last: (): number | undefined => last.get() ?? undefined,
    /** The same without processes that are gone, and have not been ended yet. */
    lastWithout: (gone: readonly number[]): number | undefined =>
      states
        .all()
        .filter(([process]) => !gone.includes(process))
        .reduce<number | undefined>(
          (most, [, it]) => (most === undefined ? it : Math.max(most, it)),
          undefined,
        ),
    text: (id: number): string => {
      const found = text.get(id)
      if (found === undefined)
        throw new StoreError(
          'store_corrupt',
          `the settings ${id}, which a process states, are not there; run verify`,
        )
      return found
    },
    records: (): readonly ConfigurationRecord[] => {
      const found = new Map<
        number,
        { readonly since: number; readonly settings: string; processes: ConfigurationRecord['processes'] }
      >()
      for (const [id, settings, since, processId, host, pid] of records.all()) {
        const before = found.get(id)
        const processes = [...(before?.processes ?? []), { processId, host, pid }]
        found.set(id, { settings, since, processes })
      }
      const [first] = found.keys()
      return [...found].map(([id, it]) => ({
        ...it,
        settings: storedObject(it.settings, 'configuration.settings') as ConfigurationRecord['settings'],
        inForce: id === first,
      }))
    },
  }
}

type RecordColumns = readonly [
  id: number,
  settings: string,
  since: number,
  processId: string,
  host: string,
  pid: number,
]

/** A process comes that states its settings: the row of these. In the transaction that registers it. */
export function stateSettings(db: Db, settings: string, at: number): number {
  const rows = db
    .prepare<[], { readonly id: number; readonly settings: string; readonly processes: number }>(
      configurationsText,
    )
    .all()
  const { id, isNew, removed } = decideConfiguration(rows, settings)
  for (const old of removed) db.prepare('DELETE FROM configuration WHERE id = ?').run(old)
  if (isNew) db.prepare(insertInto('configuration')).run(id, settings, at)
  return id
}
