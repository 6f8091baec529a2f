import { createRequire } from 'node:module'
import type { TaskFilter } from '@ku0/agent-runtime-core'
import { laneRank, taskStates } from '@ku0/agent-runtime-core'
import type { Kysely } from 'kysely'
import { namesOf, type StoreTables } from '../sqlite/columns.ts'

interface QueryBuilder {
  readonly builder: Kysely<StoreTables>
  readonly sql: (typeof import('kysely'))['sql']
}

let loaded: QueryBuilder | undefined

/**
 * Builds SQL only; the store's own connection runs it. Loaded on first use: a list is rare, and loading takes 100 ms, which
 * every restart would pay twice (once in each thread) before the first task goes on.
 */
function queryBuilder(): QueryBuilder {
  if (loaded !== undefined) return loaded
  const library = createRequire(import.meta.url)('kysely') as typeof import('kysely')
  const builder = new library.Kysely<StoreTables>({
    dialect: {
      createAdapter: () => new library.SqliteAdapter(),
      createDriver: () => new library.DummyDriver(),
      createIntrospector: (db) => new library.SqliteIntrospector(db),
      createQueryCompiler: () => new library.SqliteQueryCompiler(),
    },
  })
  loaded = { builder, sql: library.sql }
  return loaded
}

/** The query behind a page of tasks, newest first, among those from `from` up to before `end`. */
export function compileTaskPage(
  filter: TaskFilter,
  {
    from,
    end,
    parent,
  }: { readonly from: number; readonly end: number; readonly parent?: number | undefined },
  limit: number,
): { sql: string; parameters: readonly unknown[] } {
  const { builder, sql } = queryBuilder()
  let query = builder
    .selectFrom('task')
    .select(namesOf('task').map((name) => `task.${name}` as const))
    .where('task.id', '>=', from)
    .where('task.id', '<', end)
    .orderBy('task.id', 'desc')
    .limit(limit)
  if (filter.states !== undefined)
    query = query.where(
      'task.state',
      'in',
      filter.states.map((state) => taskStates.indexOf(state)),
    )
  if (parent !== undefined) query = query.where('task.parent', '=', parent)
  const { types, lanes } = filter
  if (types !== undefined || lanes !== undefined)
    query = query.where((where) => {
      let streams = where.selectFrom('stream').select('stream.id')
      // A rejected task never queued and has no stream: its event says what it was.
      let refusals = where
        .selectFrom('event')
        .select('event.task')
        .whereRef('event.task', '=', 'task.id')
        .where('event.type', '=', 'task.rejected')
      if (types !== undefined) {
        streams = streams.where('stream.type', 'in', [...types])
        refusals = refusals.where(sql`data ->> '$.type'`, 'in', [...types])
      }
      if (lanes !== undefined) {
        streams = streams.where(
          'stream.lane_rank',
          'in',
          lanes.map((lane) => laneRank[lane]),
        )
        refusals = refusals.where(sql`data ->> '$.lane'`, 'in', [...lanes])
      }
      return where.or([
        where('task.stream', 'in', streams),
        where.and([where('task.stream', 'is', null), where.exists(refusals)]),
      ])
    })
  return query.compile()
}
