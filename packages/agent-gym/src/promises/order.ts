import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { collectFacts } from '../host/collect.ts'
import { startProgram } from '../host/program.ts'
import { readFacts } from '../run/facts.ts'
import type { Figure, Measured } from './figures.ts'
import { type OrderScript, orderScript, startLine } from './order-script.ts'
import type { Means } from './scenario-runs.ts'

/** What one run has decided. */
export interface OrderLog {
  /** Which Node it was on. */
  readonly node: string
  /** A line for each start, in order. */
  readonly starts: readonly string[]
  /** A line for each task, with the hash of its events without times, ids and workers. */
  readonly hashes: readonly string[]
}

/**
 * Does the same to the same tasks so often, each time in a process of its own on a new file, on the Node that runs and on every other that is
 * given, and compares every start with the published rule, and the logs with each other. Source: `docs/semantics.md` 3.1, 3.3, 3.8.
 */
export async function measureOrder(
  {
    orders,
    tasks,
    nodes,
  }: { readonly orders: number; readonly tasks: number; readonly nodes: readonly string[] },
  means: Means,
): Promise<Measured> {
  const logs: OrderLog[] = []
  for (const node of [process.execPath, ...nodes])
    for (let n = 0; n < orders; n += 1) logs.push(await orderOnce(node, tasks, means))
  return judgeOrder(orders * (nodes.length + 1), orderScript(tasks, means.seed), logs)
}

/** Holds logs against the script that they are of, and against each other. */
export function judgeOrder(runs: number, script: OrderScript, logs: readonly OrderLog[]): Measured {
  const wrong = logs.flatMap(({ starts }) =>
    Array.from({ length: Math.max(starts.length, script.starts.length) }, (_, i) => i).filter(
      (i) => starts[i] !== script.starts[i],
    ),
  )
  const texts = logs.map(({ starts, hashes }) => [...starts, ...hashes].join(''))
  const byNode = Map.groupBy(logs, ({ node }) => node)
  const figure = (what: string, value: number, equals?: number): Figure => ({
    what,
    value,
    unit: '',
    ...(equals !== undefined && { bar: { equals } }),
  })
  return {
    promise: 'R6 order',
    figures: [
      figure('runs from scratch', logs.length, runs),
      ...[...byNode].map(([node, its]) => figure(`of them on ${node}`, its.length)),
      figure('starts in each', script.starts.length),
      figure('of them with more than one worker to choose from', script.choices),
      figure('starts that the published rule does not give: task, lane, place or worker', wrong.length, 0),
      figure(
        'runs whose log of starts and histories is not that of the first, byte by byte',
        texts.filter((text) => text !== texts[0]).length,
        0,
      ),
    ],
    faults: [],
  }
}

async function orderOnce(node: string, tasks: number, means: Means): Promise<OrderLog> {
  const folder = mkdtempSync(join(tmpdir(), 'gym-order-'))
  const store = `sqlite:${folder}/runtime.db`
  try {
    const program = startProgram('@ku0/agent-gym/order-life', [store, String(tasks), String(means.seed)], {
      ...means,
      // A start that never comes would be waited for for ever.
      signal: AbortSignal.any([means.signal, AbortSignal.timeout(60_000 + tasks * 1_000)]),
      node,
    })
    const [said] = await Promise.all([program.said('done '), program.succeeded()])
    return { node: said.slice('done '.length), ...(await logIn(store, folder)) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function logIn(url: string, folder: string): Promise<Omit<OrderLog, 'node'>> {
  const { config } = parseExecutionConfig({})
  const store = await openStore(url, { config, thread: false })
  const file = join(folder, 'facts.jsonl')
  try {
    await collectFacts(store, file, { evidence: 'full', faults: [], config: {}, workload: [] })
  } finally {
    await store.close()
  }
  const facts = readFacts(file, () => undefined).toSorted((a, b) => a.sequence - b.sequence)
  const starts = facts.flatMap((task) =>
    task.events
      .filter(({ type }) => type === 'task.started')
      .map(({ data }) => ({
        dispatch: Number(data['dispatch']),
        line: startLine(Number(data['dispatch']), task, task.sequence, String(data['workerId'])),
      })),
  )
  return {
    starts: starts.toSorted((a, b) => a.dispatch - b.dispatch).map(({ line }) => line),
    hashes: facts.map(({ taskId, orderHash }) => `${taskId} ${orderHash}\n`),
  }
}
