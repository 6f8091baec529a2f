import {
  historyEdited,
  type LogRange,
  type OutputChunk,
  type Read,
  type ReadKind,
  type Reads,
  type StoredEvent,
} from '@ku0/agent-runtime-core'
import { accessTokenRecordOf, type PlainEvent, type TaskRow } from '@ku0/agent-runtime-core/transition'
import { prepareExplain } from './explain.ts'
import { prepareApprovals } from './approvals.ts'
import { prepareBudgets } from './budgets.ts'
import { prepareEvaluationReads } from '../sqlite/evaluations.ts'
import { prepareLedgerReads } from './ledger.ts'
import { memoTypes, noMemos, prepareMemos } from './memos.ts'
import { preparePipelines } from './pipelines.ts'
import { prepareRetention } from './retention.ts'
import { prepareRoutes } from './routes.ts'
import { prepareQueueView } from './queue-view.ts'
import { prepareWaitCounts } from './wait-counts.ts'
import type { ReadContext } from './read-context.ts'
import { prepareStoreRecords } from './store-records.ts'
import { prepareSeries } from './series.ts'
import { prepareSupervisors } from './supervisors.ts'
import { prepareTaskRecords } from './task-records.ts'

/** Answers questions from committed state, between flushes. */
export function prepareReads(context: ReadContext): (query: Read) => Reads[ReadKind]['answer'] {
  const { db, tables } = context
  const { load, faultOf } = tables
  const events = db.prepare<[number, number, number], EventColumns>(
    'SELECT seq, type, at, data, blob, hash FROM event WHERE task = ? AND seq > ? ORDER BY seq LIMIT ? + 0',
  )
  const chunks = db.prepare<[number, number, number], ChunkColumns>(
    'SELECT seq, attempt, at, data, round FROM output WHERE task = ? AND seq > ? ORDER BY seq LIMIT ? + 0',
  )

  const approvals = prepareApprovals(db, tables, context.now)
  const evaluations = prepareEvaluationReads(db, tables.load.evaluations)
  const ledger = prepareLedgerReads(tables)
  const budgets = prepareBudgets(tables, context.now)
  const { find, nameOf, recordOf, wholeOf, leasesOf, page, idPage, countSlice } = prepareTaskRecords(
    context,
    budgets,
  )
  const { workers, stats, schedules, clients } = prepareStoreRecords(context)
  const queueView = prepareQueueView(context, workers)
  const explain = prepareExplain(context, queueView, (row) => budgets.askingAbove(row))
  const waitCounts = prepareWaitCounts(context, queueView)
  const past = prepareSeries(context)
  const memos = prepareMemos(db, tables)
  const supervisors = prepareSupervisors(context, nameOf, recordOf)
  const pipelines = preparePipelines(tables, nameOf, recordOf)
  const retention = prepareRetention(db)
  const { routes, swarms } = prepareRoutes(context)

  return (query) => {
    switch (query.kind) {
      case 'task': {
        const row = find(query.taskId)
        return row === undefined ? undefined : wholeOf(row)
      }
      case 'tasks':
        return page(query.filter)
      case 'taskIds':
        return idPage(query.filter)
      case 'taskCount':
        return countSlice(query.filter)
      case 'events': {
        const row = find(query.taskId)
        return row === undefined
          ? undefined
          : events.all(row.id, query.after, query.limit).map((it) => eventOf(row, it))
      }
      case 'steps': {
        const row = find(query.taskId)
        return row === undefined ? { steps: [] } : memos.steps(row, query)
      }
      case 'checkpoint':
        return db.atOnce(() => {
          const row = find(query.taskId)
          return row === undefined ? undefined : tables.checkpoint(row.id)
        })
      case 'integrity':
        return db.atOnce(() => {
          const row = find(query.taskId)
          return row === undefined ? undefined : faultOf(row)
        })
      case 'memos':
        return db.atOnce(() => {
          const row = find(query.taskId)
          if (row === undefined) return noMemos
          const passed: PlainEvent[] = []
          let hasChildren = false
          const fault = faultOf(row, (event) => {
            if (memoTypes.has(event.type)) passed.push(event)
            hasChildren ||= event.type === 'child.spawned' || event.type === 'child.inherited'
          })
          if (fault !== undefined) throw historyEdited(query.taskId, fault)
          return memos.memos(row, passed, hasChildren)
        })
      case 'approvals':
        return approvals(query)
      case 'budget': {
        const row = find(query.taskId)
        return row === undefined ? undefined : budgets.of(row)
      }
      case 'budgets':
        return budgets.asking(query)
      case 'output': {
        const row = find(query.taskId)
        if (row === undefined) return undefined
        return chunksOf(query.taskId, row.id, query)
      }
      case 'leases': {
        const row = find(query.taskId)
        return row === undefined ? [] : leasesOf(row, query.limit)
      }
      case 'schedules':
        return schedules(query.filter)
      case 'accessTokens':
        return load.accessTokens.all().map(accessTokenRecordOf)
      case 'clients':
        return clients(query)
      case 'ledger':
        return ledger(query)
      case 'reputation':
      case 'agents':
      case 'evaluations':
      case 'similar':
        return evaluations(query)
      case 'workers':
        return workers()
      case 'stats':
        return stats()
      case 'routes':
        return routes()
      case 'supervisor': {
        const row = find(query.taskId)
        return row === undefined ? undefined : db.atOnce(() => supervisors.of(row))
      }
      case 'supervisors':
        return db.atOnce(() => supervisors.page(query))
      case 'pipeline': {
        const row = find(query.taskId)
        return row === undefined ? undefined : db.atOnce(() => pipelines.of(row))
      }
      case 'pipelines':
        return db.atOnce(() => pipelines.page(query))
      case 'pipelineEvents': {
        const row = find(query.taskId)
        const log = row === undefined ? undefined : pipelines.logOf(row)
        return log === undefined ? undefined : chunksOf(nameOf(log), log.id, query)
      }
      case 'swarms':
        return swarms(query.name)
      case 'explain':
        return db.atOnce(() => {
          const row = find(query.taskId)
          return row === undefined ? undefined : explain(row, recordOf(row))
        })
      case 'newestKept':
        return db.atOnce(() => retention.newestKept(query))
      case 'prunable':
        return db.atOnce(() => retention.prunable(query))
      case 'waits':
        return db.atOnce(waitCounts)
      case 'series':
        return past.series(query.filter)
      case 'runs':
        return db.atOnce(() => past.runs(query))
      case 'samples':
        return past.samples(query)
      case 'lastSample':
        return past.lastSample(query.stepMs)
    }
    return unknown(query)
  }

  function chunksOf(
    taskId: string,
    task: number,
    { after, limit, ranges }: Reads['pipelineEvents']['fields'],
  ): readonly OutputChunk[] {
    const stretches = ranges === undefined ? [[after, limit] as const] : stretchesIn(ranges, after, limit)
    const read = ([before, count]: LogRange) => chunks.all(task, before, count)
    db.ahead(stretches, read)
    return stretches.flatMap(read).map(({ round, ...it }) => ({
      taskId,
      ...it,
      ...(round === null ? {} : { round }),
    }))
  }

  function eventOf(row: TaskRow, it: EventColumns): StoredEvent {
    const data = it.blob === null ? it.data : tables.withBlob(it.data, it.blob, load.blob(it.blob) ?? '')
    return { taskId: nameOf(row), seq: it.seq, type: it.type, at: it.at, data, hash: it.hash.toString('hex') }
  }
}

/** Every read has its case: one without does not compile. */
function unknown(query: never): never {
  throw new Error(`there is no read ${(query as Read).kind}`)
}

/** What a page takes of some stretches of a log, each as the sequence before it and how many follow: the log has no gaps. */
function stretchesIn(ranges: readonly LogRange[], after: number, limit: number): readonly LogRange[] {
  const stretches: LogRange[] = []
  let left = limit
  for (const [first, count] of ranges) {
    const before = Math.max(first - 1, after)
    const many = Math.min(first + count - 1 - before, left)
    if (many > 0) stretches.push([before, many])
    left -= Math.max(many, 0)
  }
  return stretches
}

interface ChunkColumns {
  readonly seq: number
  readonly attempt: number
  readonly at: number
  readonly data: string
  readonly round: number | null
}

interface EventColumns {
  readonly seq: number
  readonly type: StoredEvent['type']
  readonly at: number
  readonly data: string
  readonly blob: string | null
  readonly hash: Buffer
}
