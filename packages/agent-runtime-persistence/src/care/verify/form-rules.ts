import { accessScopes, budgetFields, storeSettings } from '@ku0/agent-runtime-core'
import { ExecutionConfig, ProfileTerms, SwarmTerms } from '@ku0/agent-runtime-core/schemas'
import type { StoredLog, UsageRow } from '@ku0/agent-runtime-core/transition'
import { z } from 'zod'
import { budgetSum, pipelineTerms, scheduleDefinition, type Shape } from '../../checked/port-schema.ts'
import type { Db } from '../../sqlite/open.ts'
import type { Faults } from './faults.ts'

/** The columns of a table that hold JSON which a store reads wherever it stands: no event tells what was in them, but all know its form. */
interface Forms {
  readonly table: string
  readonly key: string
  readonly columns: Readonly<Record<string, z.ZodType>>
}

const amount = z.int().min(0)
const share = z.number().nullable()

const usageData = z.object({
  terms: ProfileTerms,
  laneRank: z.int().min(0).max(2),
  order: amount,
  promisedCpuUs: amount.nullable(),
  promisedMemoryBytes: amount.nullable(),
  computeUs: amount,
  memoryBytes: amount,
  pressure: z.number(),
  reports: amount,
  reportedAt: z.number().nullable(),
  progress: share,
  errorRate: share,
  saturation: share,
  warned: z.boolean(),
} satisfies Shape<Omit<UsageRow, 'task' | 'route' | 'swarm' | 'agent' | 'lease'>>)

const counts = z.record(z.string(), amount)
const ranges = z.array(z.union([z.tuple([amount, amount]), z.tuple([amount, amount, amount])]))
const pipelineLog = z.object({
  seq: amount,
  published: counts,
  parts: z.array(
    z.object({
      stage: z.string(),
      partition: amount.optional(),
      task: amount.optional(),
      ended: z.boolean(),
      taken: counts,
      unread: z.record(z.string(), ranges).optional(),
    }),
  ),
  unread: z.record(z.string(), z.object({ before: amount, ranges })),
} satisfies Shape<StoredLog>)

const use = z.object({ tokens: amount, money: amount, cost: amount, steps: amount })

/** Another version may know more of them. */
const settings = z.looseObject(
  Object.fromEntries(storeSettings.map((name) => [name, ExecutionConfig.unwrap().shape[name].optional()])),
)

const forms: readonly Forms[] = [
  { table: 'stream', key: 'id', columns: { quota_keys: z.array(z.string()) } },
  {
    table: 'worker',
    key: 'id',
    columns: {
      types: z.array(z.string()),
      settings: z.record(z.string(), z.record(z.string(), z.string())).nullable(),
    },
  },
  { table: 'configuration', key: 'id', columns: { settings } },
  { table: 'schedule', key: 'name', columns: { definition: scheduleDefinition } },
  {
    table: 'access_token',
    key: 'name',
    columns: { scopes: z.array(z.enum(accessScopes)), types: z.array(z.string()).nullable() },
  },
  { table: 'swarm', key: 'name', columns: { terms: SwarmTerms } },
  { table: 'pipeline', key: 'task', columns: { terms: pipelineTerms, log: pipelineLog } },
  { table: 'usage', key: 'task', columns: { data: usageData } },
  {
    table: 'budget',
    key: 'task',
    columns: {
      limits: budgetSum,
      soft: budgetSum,
      used: use,
      own: use,
      asked: z.object({ field: z.enum(budgetFields), at: amount, by: amount }).nullable(),
    },
  },
]

/** What can be read is what somebody could have written there. In slices of rows. */
export function* checkForms(db: Db, faults: Faults, slice: <T>(run: () => T) => T): Generator<void, void> {
  for (const { table, key, columns } of forms) {
    const names = Object.keys(columns)
    const first = db.prepare<[number], Row>(
      `SELECT ${[key, ...names].join(', ')} FROM ${table} ORDER BY ${key} LIMIT ? + 0`,
    )
    const next = db.prepare<[Row[string], number], Row>(
      `SELECT ${[key, ...names].join(', ')} FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ? + 0`,
    )
    for (let last: Row | undefined, more = true; more;) {
      const rows = slice(() =>
        last === undefined ? first.all(rowsInSlice) : next.all(last[key] ?? null, rowsInSlice),
      )
      for (const row of rows)
        for (const [name, form] of Object.entries(columns)) {
          const wrong = wrongWith(form, row[name])
          if (wrong !== undefined)
            faults.add('row', `${table} ${String(row[key])}, ${name}`, wrong, row[name])
        }
      last = rows.at(-1)
      more = rows.length === rowsInSlice
      yield
    }
  }
}

type Row = Readonly<Record<string, string | number | null>>

/** What should be there instead, or undefined. */
function wrongWith(form: z.ZodType, text: Row[string] | undefined): string | undefined {
  let value: unknown
  try {
    value = typeof text === 'string' ? JSON.parse(text) : (text ?? null)
  } catch {
    return 'JSON'
  }
  const { error } = form.safeParse(value)
  return error?.issues.map(({ path, message }) => [...path, message].map(String).join(': ')).join('; ')
}

const rowsInSlice = 500
