import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { startProgram, type StartedProgram } from '../host/program.ts'
import type { Measured } from './figures.ts'
import type { Means } from './scenario-runs.ts'

/** Fifty submitters in five processes, each of which submits twelve tasks to a lane: a hundred more than there is room for. */
const processes = 5
const submitters = 10
const each = 12
const calls = processes * submitters * each

/** What was answered to one lane, and what stood in the queue then. */
export interface Burst {
  readonly answers: Readonly<Record<string, number>>
  readonly queued: number
}

/**
 * Lets fifty submitters fill an empty store at the same time, so often, first with batch tasks, then with normal ones. Source: `docs/semantics.md`
 * 2.2, 2.4, 2.9.
 */
export async function measureBackpressure(
  bursts: number,
  { compileCache, signal }: Means,
): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gym-bursts-'))
  const programs = Array.from({ length: processes }, () =>
    startProgram('@ku0/agent-gym/submitter', [], { compileCache, signal }),
  )
  try {
    const seen: { batch: Burst; normal: Burst }[] = []
    for (let n = 0; n < bursts; n += 1) {
      signal.throwIfAborted()
      const path = join(folder, `${n}.db`)
      await tellAll(programs, `open sqlite:${path}`, 'open')
      const batch = await burst(programs, path, 'batch')
      const normal = await burst(programs, path, 'normal')
      await tellAll(programs, 'close', 'closed')
      seen.push({ batch, normal })
      for (const suffix of ['', '-wal', '-shm', '-anchor']) rmSync(path + suffix, { force: true })
    }
    for (const program of programs) program.tell('end')
    await Promise.all(programs.map((program) => program.succeeded()))
    return judgeBackpressure(bursts, seen)
  } finally {
    for (const program of programs) program.signal('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Bursts in which the lanes were not let in exactly as far as they are to be, or in which something else was answered. */
export function judgeBackpressure(
  bursts: number,
  seen: readonly { readonly batch: Burst; readonly normal: Burst }[],
): Measured {
  const isExact = ({ answers, queued }: Burst, refusal: string, depth: number) =>
    answers['accepted'] === 500 && answers[refusal] === calls - 500 && queued === depth
  const count = (what: string, value: number, equals: number) => ({ what, value, unit: '', bar: { equals } })
  const wrong = (of: (it: (typeof seen)[number]) => boolean) => seen.filter((it) => !of(it)).length
  const highest = seen.reduce((most, { batch, normal }) => Math.max(most, batch.queued, normal.queued), 0)
  return {
    promise: 'R7 backpressure',
    figures: [
      count('runs with fifty submitters in five processes', seen.length, bursts),
      count(
        'submissions',
        seen
          .flatMap(({ batch, normal }) => [batch, normal])
          .reduce((sum, { answers }) => sum + sumOf(answers), 0),
        bursts * 2 * calls,
      ),
      count(
        'runs in which not exactly 500 of 600 batch tasks were let in, the others refused for backpressure',
        wrong(({ batch }) => isExact(batch, 'backpressure', 500)),
        0,
      ),
      count(
        'runs in which not exactly 500 more of 600 normal tasks were let in, the others refused for a full queue',
        wrong(({ normal }) => isExact(normal, 'queue_full', 1_000)),
        0,
      ),
      { what: 'most tasks in a queue', value: highest, unit: '', bar: { equals: 1_000 } },
    ],
    faults: [],
  }
}

async function burst(programs: readonly StartedProgram[], path: string, lane: string): Promise<Burst> {
  const said = await tellAll(programs, `submit ${lane} ${submitters} ${each}`, 'told ')
  const answers: Record<string, number> = {}
  for (const line of said)
    for (const [answer, times] of Object.entries(JSON.parse(line.slice('told '.length)) as Burst['answers']))
      answers[answer] = (answers[answer] ?? 0) + times
  return { answers, queued: queuedIn(path) }
}

/** All at once; resolves with what each answered. */
function tellAll(
  programs: readonly StartedProgram[],
  line: string,
  answer: string,
): Promise<readonly string[]> {
  for (const program of programs) program.tell(line)
  return Promise.all(programs.map((program) => program.said(answer)))
}

/** As the rows of the store have it, whatever the runtime counts. */
function queuedIn(path: string): number {
  const db = new Database(path, { readonly: true })
  try {
    return db.prepare<[], number>("SELECT count(*) FROM tasks WHERE state = 'queued'").pluck().get() ?? 0
  } finally {
    db.close()
  }
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, times) => sum + times, 0)
}
