import {
  assertOptions,
  flagRule,
  type ExecutionStore,
  type Rules,
  type ValueCodec,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { OutputItem, OutputPage, StoredCheckpoint, StoredPage, StoredStep } from '../api/client.ts'
import type { RuntimeEvent } from '../api/events.ts'
import { chunkReader } from './follow.ts'
import type { KnownTypes } from './known-types.ts'
import { noTask } from './result.ts'
import { toRuntimeEvent } from './stored-event.ts'
import { shown } from './task-status.ts'

/** What reading stored pages needs. */
export interface PageDeps {
  readonly store: ExecutionStore
  readonly values: ValueCodec
}

/** A page of a task's events as they stand. Source: `docs/semantics.md 9.1`. */
export async function pageOfHistory(
  { store, values }: PageDeps,
  taskId: string,
  page: StoredPage,
): Promise<{ readonly events: readonly RuntimeEvent[]; readonly cursor?: number }> {
  assertOptions('history', page, pageRules)
  const { after = 0, limit = DEFAULT_LIMIT } = page
  const events = await store.read({ kind: 'events', taskId, after, limit })
  if (events === undefined) throw noTask(taskId)
  return {
    events: events.map((event) => toRuntimeEvent(event, event.type, values)),
    ...cursorOf(events, limit),
  }
}

/** A page of what a task has emitted, with the marks that `output` has. Source: `docs/semantics.md 9.3`. */
export async function pageOfOutput(
  deps: PageDeps & { readonly types: KnownTypes },
  taskId: string,
  page: OutputPage,
): Promise<{ readonly items: readonly OutputItem<never>[]; readonly cursor?: number }> {
  assertOptions('emitted', page, outputPageRules)
  const { store } = deps
  const { after = 0, limit = DEFAULT_LIMIT } = page
  // With the chunk before, whose attempt says whether the first one of the page begins a new attempt.
  const from = Math.max(0, after - 1)
  const read = await store.read({ kind: 'output', taskId, after: from, limit: limit + after - from })
  if (read === undefined) throw noTask(taskId)
  const chunks = read.filter(({ seq }) => seq > after).slice(0, limit)
  let attempt = read.find(({ seq }) => seq === after)?.attempt ?? 1
  const items: OutputItem<never>[] = []
  const dataOf = await chunkReader(deps, taskId, page.check)
  for (const chunk of chunks) {
    if (chunk.attempt > attempt)
      items.push({ type: 'attempt.restarted', attempt: chunk.attempt, seq: chunk.seq - 1 })
    attempt = chunk.attempt
    items.push({ type: 'chunk', seq: chunk.seq, attempt, at: chunk.at, data: dataOf(chunk) })
  }
  return { items, ...cursorOf(chunks, limit) }
}

/** A page of the recorded steps of a task with their results. Source: `docs/semantics.md 7`. */
export async function pageOfSteps(
  { store, values }: PageDeps,
  taskId: string,
  page: StoredPage,
): Promise<{ readonly steps: readonly StoredStep[]; readonly cursor?: number }> {
  assertOptions('steps', page, pageRules)
  const { after = 0, limit = DEFAULT_LIMIT } = page
  const found = await store.read({ kind: 'steps', taskId, after, limit })
  return {
    ...found,
    steps: found.steps.map(({ result, ...step }) => ({ ...step, result: shown(values, result) })),
  }
}

/** The newest checkpoint of a task with its value. */
export async function storedCheckpoint(
  { store, values }: PageDeps,
  taskId: string,
): Promise<StoredCheckpoint | undefined> {
  const found = await store.read({ kind: 'checkpoint', taskId })
  return found === undefined ? undefined : { ...found, data: shown(values, found.data) }
}

function cursorOf(rows: readonly { readonly seq: number }[], limit: number): { readonly cursor?: number } {
  const last = rows.at(-1)
  return last === undefined || rows.length < limit ? {} : { cursor: last.seq }
}

const DEFAULT_LIMIT = 100

const pageRules: Rules<StoredPage> = {
  after: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  limit: wholeNumber(1, 1_000),
}
const outputPageRules: Rules<OutputPage> = { ...pageRules, check: flagRule }
