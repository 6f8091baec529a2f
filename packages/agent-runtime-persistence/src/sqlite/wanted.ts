import type { Counted, Kind, Kinds, Loaded, TaskRow, Wanted } from '@ku0/agent-runtime-core/transition'
import type { StoredTables } from './stored-tables.ts'

/** Runs a reading for each name, in order, and puts together what they found. */
type Gather = <N, F>(names: readonly N[], find: (name: N) => readonly F[]) => readonly F[]

/**
 * Answers what a flush wants, kind by kind and row by row: on SQLite a statement costs two microseconds and no way, so that one for each
 * row is as good as one for all. A database that is far away gives a `gather` that asks for all names at once.
 */
export function prepareWanted(tables: StoredTables, far?: Gather): (wanted: Wanted) => Loaded {
  const { load } = tables
  const blob = (sha256: string) => [sha256, load.blob(sha256) ?? ''] as const

  const counts: { readonly [C in Counted]: () => number } = {
    schedules: load.scheduleCount,
    accessTokens: load.accessTokens.count,
    agents: load.evaluations.agents,
    nextClient: load.nextClient,
  }

  /** What there is of each kind under a name; a kind may have none, one or several for it. */
  const finds: { readonly [K in Kind]: (name: Kinds[K]['name']) => readonly Kinds[K]['found'][] } = {
    tasks: (id) => some(load.task(id)),
    leases: (id) => some(load.lease(id)),
    explicitIds: (id) => some(load.explicit(id)).map((task) => [id, task] as const),
    keys: (key) => some(load.key(key)),
    waits: (task) => [
      { task, waits: load.waits(task), signals: load.signals(task), children: load.openChildren(task) },
    ],
    verdicts: (task) => [[task, load.verdicts(task)]],
    memos: (task) => [[task, load.memoKeys(task)]],
    children: (parent) => load.children(parent),
    child: ([parent, key]) => some(load.child(parent, key)),
    budgets: (task) => some(load.budget(task)),
    parked: (task) => [[task, load.parked(task)]],
    histories: (task) => [[task.id, historyOf(task)]],
    recorded: (task) => {
      const memos = load.memos(task)
      const blobs = memos.flatMap((memo) => memo.blob ?? [])
      return [{ task, memos, blobs: gather(blobs, (sha256) => [blob(sha256)]) }]
    },
    events: ([task, seq]) => some(tables.event(task, seq)).map((data) => [task, seq, data] as const),
    signals: (signal) => {
      const whole = load.signalValue(signal)
      return [[whole, whole.blob === null ? '' : (load.blob(whole.blob) ?? '')]]
    },
    outputs: (task) => [[task, load.outputs(task)]],
    pipelines: (task) => some(load.pipeline(task)),
    clients: (name) => some(load.client(name)),
    schedules: (name) => some(load.schedule(name)),
    accessTokens: (name) => some(load.accessTokens.byName(name)),
    entries: ([client, key]) => some(load.ledger.byKey(client, key)),
    evaluations: ([agent, key]) => some(load.evaluations.byKey(agent, key)),
    reputations: (agent) => [[agent, load.evaluations.reputation(agent)]],
    workersNamed: (workerId) => [[workerId, load.workersNamed(workerId)]],
    // All of them at once: each would go through every task.
    naming: () => [],
    counts: (what) => [[what, counts[what]()]],
    heads: () => [],
    blobs: (sha256) => [blob(sha256)],
    submissions: (task) => some(tables.event(task, 1)).map((data) => [task, data] as const),
    prunable: (task) => [load.prunable(task)],
    foldable: (wanted) => [load.foldable(wanted)],
    checkpoints: (task) => some(tables.checkpoint(task)).map(({ data }) => [task, data] as const),
  }

  const gather: Gather = far ?? ((names, find) => names.flatMap((name) => find(name)))

  return (wanted) => {
    const loaded: { [K in Kind]?: readonly Kinds[K]['found'][] } = {}
    const find = <K extends Kind>(kind: K, names: readonly Kinds[K]['name'][]) => {
      ;(loaded as { [P in K]?: readonly Kinds[P]['found'][] })[kind] = gather(names, (name) =>
        finds[kind](name),
      )
    }
    for (const kind of Object.keys(wanted) as Kind[]) find(kind, wanted[kind] ?? [])
    if (wanted.naming !== undefined) loaded.naming = namingOf(wanted.naming)
    if (wanted.heads !== undefined) loaded.heads = headsOf(wanted.heads)
    return loaded
  }

  function historyOf(task: TaskRow): Kinds['histories']['found'][1] {
    const fault = tables.faultOf(task)
    if (fault !== undefined) return { fault }
    const { id } = task
    const submission = tables.event(id, 1) ?? '{}'
    return { submission, memos: load.memos(id), doubts: tables.doubts(id), ...load.failure(id) }
  }

  function namingOf(keys: readonly string[]): readonly Kinds['naming']['found'][] {
    const naming = load.naming(new Set(keys))
    return keys.map((key) => [key, naming.get(key) ?? []] as const)
  }

  function headsOf(wanted: readonly Kinds['heads']['name'][]): readonly Kinds['heads']['found'][] {
    if (far !== undefined)
      return far(wanted, (it) => {
        const found = load.heads(it.stream, it.after, it.limit)
        return [
          { ...it, rows: found.map(({ task }) => task), texts: found.map(({ submission }) => submission) },
        ]
      })
    const first = wanted.filter(({ limit }) => limit === 1)
    const firsts = new Map(
      (first.length === 0 ? [] : load.firstHeads(first.map(({ stream, after }) => [stream, after]))).map(
        (head) => [head.task.stream, head],
      ),
    )
    return wanted.map((it) => {
      const found = it.limit === 1 ? some(firsts.get(it.stream)) : load.heads(it.stream, it.after, it.limit)
      return { ...it, rows: found.map(({ task }) => task), texts: found.map(({ submission }) => submission) }
    })
  }
}

export function some<T>(found: T | undefined): T[] {
  return found === undefined ? [] : [found]
}
