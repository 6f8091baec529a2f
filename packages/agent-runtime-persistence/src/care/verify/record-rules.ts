import { dimensions, type EventData, isFinal, type TaskState } from '@ku0/agent-runtime-core'
import { CALLER, type EvaluationRow, swarmRoute } from '@ku0/agent-runtime-core/transition'
import { prepareEvaluationLoad } from '../../sqlite/evaluations.ts'
import type { Load } from '../../sqlite/load.ts'
import type { Db } from '../../sqlite/open.ts'
import { Statements } from '../../sqlite/statements.ts'
import type { Faults } from './faults.ts'

/** Rows of a task that is not there: none of them would ever be looked at. In a transaction. */
export function checkOwners(db: Db, faults: Faults): void {
  for (const [table, column] of owned) {
    const stray = db
      .prepare<[], number>(
        `SELECT ${column} FROM ${table} WHERE ${column} IS NOT NULL AND ${column} NOT IN (SELECT id FROM task) LIMIT 1`,
      )
      .pluck()
      .get()
    if (stray !== undefined) faults.add('row', `${table} of task ${stray}`, 'a task', 'none')
  }
}

const owned = [
  ['wait', 'task'],
  ['signal', 'task'],
  ['child', 'parent'],
  ['checkpoint', 'task'],
  ['output', 'task'],
  ['idempotency', 'task'],
  ['budget', 'task'],
  ['pipeline', 'task'],
  ['usage', 'task'],
  ['lease', 'task'],
] as const

/** What is of workers, schedules, routes and swarms: rows that are few, each against what it names. In a transaction. I11, 10.3, 10.6. */
export function checkRecords(db: Db, load: Load, faults: Faults): void {
  const stateOf = (task: number): TaskState | undefined => load.task(task)?.state
  const ended = db
    .prepare<[], number>(
      'SELECT worker.id FROM worker LEFT JOIN process ON process.id = worker.process WHERE registered = 1 AND (process.id IS NULL OR process.ended_at IS NOT NULL)',
    )
    .pluck()
  for (const worker of ended.all())
    faults.add('row', `worker ${worker}`, 'a process that has not ended', 'none')
  const stating = db.prepare<[], { id: number; configuration: number }>(
    'SELECT id, configuration FROM process WHERE ended_at IS NULL AND configuration IS NOT NULL',
  )
  for (const { id, configuration } of stating.all())
    if (!exists(db, 'configuration', configuration))
      faults.add('row', `process ${id}`, 'the settings that it states', `none under ${configuration}`)
  const stray = db.prepare<[], { id: number; task: number; process: number; worker: number }>(
    'SELECT id, task, process, worker FROM lease WHERE state = 0',
  )
  for (const { id, task, process, worker } of stray.all()) {
    faults.same(`lease ${id}, its task`, id, load.task(task)?.lease)
    if (!exists(db, 'process', process)) faults.add('row', `lease ${id}`, 'a process', process)
    if (worker !== CALLER && !exists(db, 'worker', worker))
      faults.add('row', `lease ${id}`, 'a worker', worker)
  }

  const lastRuns = db.prepare<[], { name: string; last: number }>(
    'SELECT name, last_task AS last FROM schedule WHERE last_task IS NOT NULL',
  )
  for (const { name, last } of lastRuns.all()) {
    const first = load.event(last, 1)
    // A run that was refused may have been forgotten since.
    if (first === undefined || stateOf(last) === 'rejected') continue
    const { schedule } = JSON.parse(first.data) as Partial<EventData['task.queued']>
    faults.same(`schedule ${name}, its last task ${last}`, name, schedule)
  }
  checkWork(load, faults, stateOf)
}

/** Usages are of live leases, or of agents that have not ended; agents are of a swarm that there is. */
function checkWork(load: Load, faults: Faults, stateOf: (task: number) => TaskState | undefined): void {
  const swarms = new Map(load.work.swarms().map(({ name, terms }) => [name, { terms, agents: 0 }]))
  const submissionOf = (task: number) =>
    JSON.parse(load.event(task, 1)?.data ?? '{}') as Partial<EventData['task.queued']>
  for (const { task, route, lease, swarm, agent } of load.work.usages()) {
    const where = `usage of task ${task}`
    const state = stateOf(task)
    if (state === undefined || isFinal(state)) faults.add('row', where, 'a task that is not over', state)
    if (swarm === null || lease !== null) faults.same(`${where}, lease`, load.task(task)?.lease, lease)
    const said = submissionOf(task)
    faults.same(`${where}, route`, said.type, route)
    if (swarm === null) continue
    faults.same(`${where}, agent`, said.agent, agent)
    faults.same(`${where}, swarm`, said.swarm, swarm)
    const own = swarms.get(swarm)
    if (own === undefined) faults.add('row', `${where}, swarm`, 'a swarm', swarm)
    else own.agents += 1
  }
  for (const [name, { terms, agents }] of swarms)
    if (agents > terms.maxAgents)
      faults.add('row', `swarm ${name}`, `${terms.maxAgents} agents at most`, agents)
  for (const { route, probe } of load.work.circuits()) {
    if (probe === null) continue
    const where = `route ${route}, probe ${probe}`
    const state = stateOf(probe)
    if (state === undefined || isFinal(state)) faults.add('row', where, 'a task that is not over', state)
    const { type, swarm } = submissionOf(probe)
    if (type !== route && (swarm === undefined || swarmRoute(swarm) !== route))
      faults.add('row', where, 'a task of the route', type)
  }
}

function exists(db: Db, table: 'process' | 'worker' | 'configuration', id: number): boolean {
  return db.prepare<[number], number>(`SELECT 1 FROM ${table} WHERE id = ?`).pluck().get(id) !== undefined
}

/** Where an agent stands is what its evaluations led to, from the first that is kept on. In slices of agents. Source: `docs/semantics.md 15.3`. */
export function* checkEvaluations(
  db: Db,
  faults: Faults,
  slice: <T>(run: () => T) => T,
): Generator<void, void> {
  const agents = db
    .prepare<[string, number], string>(
      'SELECT agent FROM reputation WHERE agent > ? ORDER BY agent LIMIT ? + 0',
    )
    .pluck()
  const load = prepareEvaluationLoad(new Statements(db))
  const check = (agent: string) => {
    const standing = load.reputation(agent)
    const kept = load.kept(agent)
    const where = `agent ${agent}`
    if (standing === undefined) return
    const last = kept.at(-1)
    faults.same(`${where}, evaluations`, last?.seq, standing.evaluations)
    faults.same(`${where}, reputation`, last?.reputation, standing.reputation)
    faults.same(`${where}, latest`, JSON.stringify(last?.scores), JSON.stringify(standing.latest))
    faults.same(`${where}, lastAt`, last?.at, standing.lastAt)
    for (const [index, row] of kept.entries())
      checkEvaluation(row, kept[index - 1], `${where}, evaluation ${row.seq}`)
    if (kept.length < standing.evaluations) return
    for (const dimension of dimensions) {
      const mean = kept.reduce((sum, { scores }) => sum + scores[dimension], 0) / kept.length
      if (!isNear(mean, standing.average[dimension]))
        faults.add('row', `${where}, average of ${dimension}`, mean, standing.average[dimension])
    }
  }
  const checkEvaluation = (row: EvaluationRow, before: EvaluationRow | undefined, where: string) => {
    if (before !== undefined) faults.same(where, before.seq + 1, row.seq)
    const missing: unknown = row.missing
    if (!Array.isArray(missing) || !missing.every((name) => typeof name === 'string'))
      faults.add('row', `${where}, missing`, 'names', missing)
    const from = before?.reputation ?? (row.seq === 1 ? row.composite : undefined)
    if (from !== undefined && !isNear(row.reputation, 0.3 * row.composite + 0.7 * from))
      faults.add('row', `${where}, reputation`, 0.3 * row.composite + 0.7 * from, row.reputation)
  }
  for (let after = '', more = true; more;) {
    const names = slice(() => {
      const found = agents.all(after, agentsInSlice)
      for (const agent of found) faults.reading(`agent ${agent}`, () => check(agent))
      return found
    })
    after = names.at(-1) ?? after
    more = names.length === agentsInSlice
    yield
  }
  const stray = db
    .prepare<[], string>(
      'SELECT agent FROM evaluation WHERE agent NOT IN (SELECT agent FROM reputation) LIMIT 1',
    )
    .pluck()
    .get()
  if (stray !== undefined) faults.add('row', `evaluation of agent ${stray}`, 'a reputation', 'none')
}

function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) < 1e-12
}

const agentsInSlice = 20
