/** A fault that a careless change could bring in, and the tests that have to notice it. */
export interface Mutant {
  readonly name: string
  /** The source file, from the root of the repository. */
  readonly file: string
  /** Each text stands in the file exactly once, and is replaced. */
  readonly edits: readonly (readonly [find: string, replace: string])[]
  /** A test file, and what the names of its tests hold that hold the rule: one of them has to fail. */
  readonly killedBy: readonly [file: string, name: string]
}

const core = 'packages/agent-runtime-core/src/'
const persistence = 'packages/agent-runtime-persistence/src/'
const runtime = 'packages/agent-runtime/src/'

const conformance = (part: string, name: string) =>
  [`packages/agent-runtime-persistence/test/conformance/${part}.test.ts`, name] as const
const coreTest = (file: string, name: string) =>
  [`packages/agent-runtime-core/test/${file}.test.ts`, name] as const

const settings = 'packages/agent-runtime-persistence/test/processes/settings.test.ts'
const away = 'packages/agent-runtime-persistence/test/postgres/away.proof.test.ts'
const agreements = 'packages/agent-runtime/test/credits/agreements.test.ts'

const model = (name: string) => ['packages/agent-runtime-persistence/test/model/model.test.ts', name] as const

/** By the invariant or rule that each breaks. Source: `docs/reliability.md`. */
export const mutants: readonly Mutant[] = [
  {
    name: '13.2 explain takes a stage that waits for other events for one that is slow',
    file: `${core}pipeline/held-back.ts`,
    edits: [['return types.size === 0 ? undefined', 'return types.size > 0 ? undefined']],
    killedBy: conformance('pipelines', '13.2 explain says which stage waits for other events'),
  },
  {
    name: '13.2 explain takes a stage that something else lets go on for one that waits for ever',
    file: `${core}pipeline/held-back.ts`,
    edits: [
      [
        "if (wait?.for !== 'events' || wait.types.includes(type)) return undefined",
        "if (wait?.for !== 'events') continue",
      ],
    ],
    killedBy: conformance('pipelines', '13.2 explain says of no stage that it waits for other events'),
  },
  {
    name: '14.2 a supervisor does not tell how long its children may take to stop',
    file: `${persistence}views/supervisors.ts`,
    edits: [
      [
        '            const shutdownMs = shutdownIn({ parentId, labels })\n',
        '            const shutdownMs = shutdownIn({ labels })\n',
      ],
    ],
    killedBy: conformance('supervision', '14.2 a child that is started from outside'),
  },
  {
    name: '5.5 a process begins that runs a supervisor and lacks the task of a child',
    file: `${runtime}checked-options.ts`,
    edits: [['          if (types.has(type)) return []\n', '          if (type.length > 0) return []\n']],
    killedBy: ['packages/agent-runtime/test/named-mistakes.test.ts', '5.5 a definition that starts a task'],
  },
  {
    name: '5.5 a marketplace whose own stage does the work is refused for want of agents',
    file: `${runtime}market/define-marketplace.ts`,
    edits: [['.every((stage) => stage === undefined)', '.length > 0']],
    killedBy: ['packages/agent-runtime/test/named-mistakes.test.ts', '5.5 a marketplace with its own stage'],
  },
  {
    name: 'retention on PostgreSQL leaves its dead rows to the server',
    file: `${persistence}postgres/care/vacuum.ts`,
    edits: [['    this.deleted += tasks\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/vacuum.proof.test.ts', '6.6 the tables'],
  },
  {
    name: 'texts on PostgreSQL sort by the language of the server',
    file: `${persistence}postgres/tables/schema.ts`,
    edits: [['TEXT: \'text COLLATE "C"\'', "TEXT: 'text'"]],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/columns.proof.test.ts',
      'sort by their bytes',
    ],
  },
  {
    name: 'on PostgreSQL a flush that writes many rows reads the whole table',
    file: `${persistence}postgres/processes/head.ts`,
    edits: [["FROM done)), ${byKey.join(', ')}`", 'FROM done))`']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/by-key.proof.test.ts', 'by their keys'],
  },
  {
    name: 'on PostgreSQL a flush that reads many rows reads the whole table',
    file: `${persistence}postgres/reads/translate.ts`,
    edits: [['SELECT * FROM (${inner}) AS run OFFSET 0', '${inner}']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/by-key.proof.test.ts', 'by their keys'],
  },
  {
    name: 'the next tasks on PostgreSQL are read with the submissions of all before them',
    file: `${persistence}postgres/reads/load.ts`,
    edits: [[' OFFSET 0) AS event', ') AS event']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/by-key.proof.test.ts', 'next tasks'],
  },
  {
    name: 'what clients have under way is read on PostgreSQL with all tasks that are over',
    file: `${persistence}postgres/reads/load.ts`,
    edits: [[' OFFSET 0) AS held', ') AS held']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/by-key.proof.test.ts', 'under way'],
  },
  {
    name: 'a name is given to another token while the first is accepted',
    file: `${core}access/access-token.ts`,
    edits: [['  return revokedAt !== null || (', '  return now > 0 || revokedAt !== null || (']],
    killedBy: conformance('records', 'a token that is accepted keeps its name'),
  },
  {
    name: 'a server that nobody asked for long accepts a token once more that was revoked meanwhile',
    file: 'packages/agent-runtime-server/src/desk.ts',
    edits: [['    if (looking !== undefined) await looking\n', '']],
    killedBy: ['packages/agent-runtime-server/test/tokens.test.ts', 'open until its store holds a token'],
  },
  {
    name: 'D02 who waits long for the lock of a file has no better chance than who is new',
    file: `${persistence}sqlite/lock-pace.ts`,
    edits: [[' * Math.exp(-6 * late)', '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/processes/lock-pace.test.ts',
      'none waits for four rounds',
    ],
  },
  {
    name: 'D02 a look for what others wrote takes the lock although it finds nothing',
    file: `${persistence}engine/transaction.ts`,
    edits: [['if (work.looks && (', 'if (work.gone.length > 0 && work.looks && (']],
    killedBy: ['packages/agent-runtime-persistence/test/processes/looks.test.ts', 'takes the lock only'],
  },
  {
    name: 'D02 a look on PostgreSQL asks for the turn although it finds nothing',
    file: `${persistence}postgres/transactions.ts`,
    edits: [
      ['this.isCalm || turn.isOn || underWay.sent.length > 0 || link', 'this.it.presence.others > 0 || link'],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/looks.proof.test.ts',
      'begins to write only',
    ],
  },
  {
    name: 'D02 a process does not look at what it begins to follow, since it did not concern it before',
    file: `${persistence}postgres/processes/presence.ts`,
    edits: [['    if (this.toldVersion > 0) this.isWanted = true\n', '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/looks.proof.test.ts',
      'begins to follow looks',
    ],
  },
  {
    name: 'D02 a commit that touches the lease of another process concerns only those that follow it',
    file: `${persistence}engine/news.ts`,
    edits: [
      ['    if (lease !== null && base.leases.get(lease)?.process !== process) return true\n', ''],
      [
        'row.process !== process) return true\n  for (const { id }',
        'row.process === -1) return true\n  for (const { id }',
      ],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/looks.proof.test.ts', 'tells others whom'],
  },
  {
    name: 'D02 a process follows a task only from the turn after the one under way',
    file: `${persistence}line/async-line.ts`,
    edits: [["    if (message.to === 'interest') this.engine.expect(message.interest)\n", '']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/looks.proof.test.ts', 'sees the end'],
  },
  {
    name: 'D02 a look that has the lock writes nothing of what it finds',
    file: `${persistence}engine/transaction.ts`,
    edits: [['{ ...work, returning, looks: false }', '{ ...work, returning }']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/touched.proof.test.ts', 'the call settle'],
  },
  {
    name: '6.6 passes that meet in one commit delete a task twice',
    file: `${core}retention/prune.ts`,
    edits: [[' || gone.has(id)', '']],
    killedBy: conformance('records', 'passes that meet'),
  },
  {
    name: '6.6 the general count counts tasks of types with a rule of their own',
    file: `${core}retention/retention.ts`,
    edits: [['return except.length === 0 ? { state } : { state, except }', 'return { state }']],
    killedBy: conformance('records', 'counts its tasks alone'),
  },
  {
    name: '6.6 a count under earlier rules holds for those in force',
    file: `${core}retention/retention.ts`,
    edits: [['known.count >= most && ', '']],
    killedBy: conformance('records', 'under other rules'),
  },
  {
    name: '6.6 a pass names children of a task that stays',
    file: `${persistence}views/retention.ts`,
    edits: [['(parent !== null && staysAbove(parent)) ||', '']],
    killedBy: conformance('records', 'names no task of a family'),
  },
  {
    name: '6.6 a slice of the count goes on with a task that was counted',
    file: `${persistence}views/retention.ts`,
    edits: [['id >= ? AND id < ? AND state BETWEEN', 'id >= ? AND id <= ? AND state BETWEEN']],
    killedBy: ['packages/agent-runtime-persistence/test/care/retention.proof.test.ts', 'many slices'],
  },
  {
    name: 'J04 a later version that has only added stops older programs',
    file: `${persistence}migration.ts`,
    edits: [['(oldest ?? version) <= known', 'version <= known']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/rolling-upgrade.test.ts',
      'works with the store',
    ],
  },
  {
    name: 'J04 a step that is not additive leaves older programs on, if one came before that is',
    file: `${persistence}sqlite/database.ts`,
    edits: [['if (version <= this.knownSchema) return', 'if (this.knownSchema > schemaVersion) return']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/rolling-upgrade.test.ts',
      'also after one that is',
    ],
  },
  {
    name: 'J04 an older program makes anew the rows that it changes',
    file: `${persistence}sqlite/put.ts`,
    edits: [
      [
        'return `${insertInto(table)} ON CONFLICT',
        "if (set.length > 0) return insertInto(table).replace('INSERT', 'INSERT OR REPLACE')\n  return `${insertInto(table)} ON CONFLICT",
      ],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/rolling-upgrade.test.ts',
      'makes each kind of write',
    ],
  },
  {
    name: '8.6 a report of the same progress keeps the time of the first one',
    file: `${persistence}sqlite/apply.ts`,
    edits: [[' ||\n    before.progressAt !== row.progressAt', '']],
    killedBy: conformance('handlers', '8.6'),
  },
  {
    name: '6.6 a child is deleted before its parent',
    file: `${core}retention/retention.ts`,
    edits: [["  if (row.parent !== null && !isGone(row.parent)) return 'has_parent'\n", '']],
    killedBy: coreTest('retention/retention', '6.6'),
  },
  {
    name: '6.6 the journal is cut without its last hash',
    file: `${persistence}sqlite/prune.ts`,
    edits: [["    putBase.run(`${last.number}:${last.hash.toString('hex')}`)\n", '']],
    killedBy: ['packages/agent-runtime-persistence/test/care/retention.test.ts', '6.6'],
  },
  {
    name: '6.6 values that another task holds go with the first that is deleted',
    file: `${persistence}sqlite/prune.ts`,
    edits: [[' AND NOT EXISTS (SELECT 1 FROM event WHERE blob = sha256)', '']],
    killedBy: conformance('records', '6.6'),
  },
  {
    name: '11.8 a task that cost less than its estimate gives nothing back',
    file: `${core}ledger/pay.ts`,
    edits: [
      [
        "  return post(ws, settled, { kind: 'refund', amount: reserved - used, held: used - reserved, task })\n",
        '  return settled\n',
      ],
    ],
    killedBy: conformance('limits', '11.8 a start reserves'),
  },
  {
    name: '11.8 a purchase with a key is made again',
    file: `${core}ledger/purchase.ts`,
    edits: [['key === null ? undefined : ws.entry(name, key)', 'undefined']],
    killedBy: conformance('limits', '11.8 a purchase with a key'),
  },
  {
    name: '11.8 entries are folded whose task is not over',
    file: `${core}ledger/fold-ledger.ts`,
    edits: [['row.seq < open && !isKept', '!isKept']],
    killedBy: conformance('limits', '11.8 entries stay whose task'),
  },
  {
    name: '11.8 a purchase is folded before its key is free',
    file: `${core}ledger/fold-ledger.ts`,
    edits: [[' || (row.key !== null && row.at + keysMs > now)', '']],
    killedBy: conformance('limits', '11.8 a purchase with a key is kept'),
  },
  {
    name: '11.8 the hash of a fold forgets the folds before it',
    file: `${core}ledger/fold-ledger.ts`,
    edits: [['hashOf(ws, folded ?? noFold, fresh)', 'hashOf(ws, noFold, fresh)']],
    killedBy: ['packages/agent-runtime-persistence/test/care/retention.test.ts', '11.8 the rest is proven'],
  },
  {
    name: '11.8 damage in a ledger is folded away',
    file: `${core}ledger/fold-ledger.ts`,
    edits: [[' && follows(row, taken.at(-1))', '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/retention.test.ts',
      '11.8 a ledger that is damaged',
    ],
  },
  {
    name: '11.8 an opening entry that nobody folded is believed',
    file: `${persistence}care/verify/ledger-rules.ts`,
    edits: [["if (kind === 'opening' && (seq > 1 || note !== null))", 'if (seq < 0)']],
    killedBy: ['packages/agent-runtime-persistence/test/care/retention.test.ts', 'is followed by another'],
  },
  {
    name: '11.9 a process without shares never says that a task waits for credits',
    file: `${persistence}views/queue-view.ts`,
    edits: [['client === undefined || client.entries === 0', 'client !== null']],
    killedBy: [
      'packages/agent-runtime-persistence/test/limits/ledger.test.ts',
      '11.9 a process that was not',
    ],
  },
  {
    name: '11.8 credits that are set make no entry',
    file: `${core}share/put-client.ts`,
    edits: [
      [
        "return post(ws, client, { kind: 'set', amount: credits - client.credits })",
        'return { ...client, credits }',
      ],
    ],
    killedBy: conformance('limits', '11.8 a client that had credits'),
  },
  {
    name: '11.8 a process without shares ends a task and leaves its credits reserved',
    file: `${core}task/task-over.ts`,
    edits: [
      ['if (ws.shares === undefined) payWithoutShares(ws, task)\n  else ', 'if (ws.shares !== undefined) '],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/limits/ledger.test.ts',
      '11.8 a process without shares',
    ],
  },
  {
    name: '3.3 what a flush changed among the tasks kept of a queue is kept as it was',
    file: `${persistence}engine/cache.ts`,
    edits: [['first > known.upTo', 'first > 0']],
    killedBy: [
      'packages/agent-runtime-persistence/test/limits/long-queue.proof.test.ts',
      '3.3 a queue that is longer than what is kept',
    ],
  },
  {
    name: '11.1 without shares a client is changed as it was first read',
    file: `${persistence}engine/cache.ts`,
    edits: [
      [
        'if (ws.shares === undefined) overwrite(this.clients, ws.clients.changed)\n    else ',
        'if (ws.shares !== undefined) ',
      ],
    ],
    killedBy: conformance('limits', '11.8 without shares'),
  },
  {
    name: '12.0 a second agent takes the name of the first',
    file: `${runtime}agents/registry.ts`,
    edits: [['if (byName.has(name))', "if (name === '')"]],
    killedBy: ['packages/agent-runtime/test/agents/registry.test.ts', '12.0 finds an agent'],
  },
  {
    name: '14.3 the death of a process hides what the table decided before it',
    file: `${persistence}views/explain.ts`,
    edits: [['else if (restartedBy !== undefined) decided =', 'else decided =']],
    killedBy: conformance('workers', '14.3 a task whose process died'),
  },
  {
    name: '14.3 a restart by a supervisor is told as a retry',
    file: `${core}recovery/answered.ts`,
    edits: [["'retry_with_backoff' : 'restart'", "'retry_with_backoff' : 'retry_with_backoff'"]],
    killedBy: ['packages/agent-runtime/test/supervision/supervision.test.ts', 'whatever its table says'],
  },
  {
    name: 'a task that went on when a key found it is said to have failed before',
    file: `${runtime}client/result.ts`,
    edits: [['foundAt !== undefined && record.finishedAt <= foundAt', 'foundAt !== undefined']],
    killedBy: ['packages/agent-runtime/test/client/said.test.ts', 'says nothing of that'],
  },
  {
    name: '11.9 an agreement that says what happens without credits is taken where none are kept',
    file: `${runtime}client/agreements.ts`,
    edits: [["if (outOfCredits === 'run') return []", 'if (outOfCredits !== name) return []']],
    killedBy: ['packages/agent-runtime/test/credits/agreements.test.ts', 'that keeps no credits'],
  },
  {
    name: '12.5 a spot check goes on under an agreement that supervises',
    file: `${runtime}durable/wait/approvals.ts`,
    edits: [["return least === 'supervised' ? least : mode", 'return mode']],
    killedBy: [agreements, '12.5 asks for approvals'],
  },
  {
    name: '12.5 a child forgets the agreement that its parent came under',
    file: `${runtime}durable/child/children.ts`,
    edits: [['...(parent.oversight === undefined ? {} : { oversight: parent.oversight }),', '']],
    killedBy: [agreements, '12.5 asks for approvals'],
  },
  {
    name: '11.9 a task starts that its client has no credits for',
    file: `${core}queue/claim.ts`,
    edits: [['if (!lacksCredits(this.ws, row, task)) return task', 'return task']],
    killedBy: conformance('limits', '11.9 out of credits'),
  },
  {
    name: '12.5 a task that ends late does not say so',
    file: `${core}submit/promise.ts`,
    edits: [['return lateMs > 0 ?', 'return lateMs > 1e9 ?']],
    killedBy: conformance('limits', '12.5 a task that ends later'),
  },
  {
    name: '11.9 a task that costs nothing waits until its client is out of debt',
    file: `${core}ledger/afford.ts`,
    edits: [['return asked > 0 && credits < asked', 'return credits < asked']],
    killedBy: conformance('limits', '11.9 a task with an estimate of 0'),
  },
  {
    name: '11.9 a client is asked for credits by each of its tasks that lacks them',
    file: `${core}ledger/ask.ts`,
    edits: [['  if (client.asks !== null) return\n', '']],
    killedBy: conformance('limits', '11.9 the client is asked for credits once'),
  },
  {
    name: '11.9 a purchase leaves the request for credits open',
    file: `${core}ledger/post.ts`,
    edits: [['asks: stillAsks(client, client.credits + amount)', 'asks: client.asks']],
    killedBy: conformance('limits', '11.9 a purchase answers the request'),
  },
  {
    name: '11.9 a task that is canceled goes on asking for credits',
    file: `${core}queue/stream.ts`,
    edits: [['  if (task.account?.asked !== undefined) endAsk(ws, stream, task)\n', '']],
    killedBy: conformance('limits', '11.9 a request for credits ends'),
  },
  {
    name: 'I9 any lease that a task ever had may write',
    file: `${core}lease/fence.ts`,
    edits: [
      [
        "if (lease === undefined || lease.state !== 'running' || isExpired(lease.expiresAt, ws.now.leaseAt))",
        'if (lease === undefined)',
      ],
      ["task.state !== 'running' || task.lease !== lease.id", "task.state !== 'running'"],
    ],
    killedBy: conformance('leases', '4.4'),
  },
  {
    name: 'I9 a lease counts for a millisecond after its end',
    file: `${core}lease/expiry.ts`,
    edits: [['return expiresAt <= now', 'return expiresAt < now']],
    killedBy: coreTest('lease/expiry', '4.2'),
  },
  {
    name: 'I10 the fencing token stays when a task is claimed again',
    file: `${core}queue/start-queued.ts`,
    edits: [['Math.max(task.fence, ws.around.fenceFloor) + 1', 'Math.max(1, task.fence)']],
    killedBy: conformance('leases', '4.6'),
  },
  {
    name: 'I10 an expiry does not count as an attempt',
    file: `${core}lease/expiry.ts`,
    edits: [['attempt: task.attempt + 1, crashes', 'attempt: task.attempt, crashes']],
    killedBy: conformance('leases', 'C7'),
  },
  {
    name: 'I10 a retry does not count as an attempt',
    file: `${core}task/settle.ts`,
    edits: [['const attempt = task.attempt + 1', 'const attempt = task.attempt']],
    killedBy: conformance('leases', '1.1 a retry'),
  },
  {
    name: 'C17 a task that kills its process gets one life more',
    file: `${core}lease/expiry.ts`,
    edits: [['crashes >= maxCrashes', 'crashes > maxCrashes']],
    killedBy: conformance('leases', 'C17'),
  },
  {
    name: '3.9 suspects run side by side',
    file: `${core}queue/claim.ts`,
    edits: [['if (!this.isSuspect(task)) return false', 'return false']],
    killedBy: conformance('limits', '3.9 one of the tasks that lost'),
  },
  {
    name: '3.9 suspects of one flush run side by side',
    file: `${core}queue/claim.ts`,
    edits: [['if (this.isSuspect(task)) this.suspectRuns = true', '']],
    killedBy: conformance('limits', '3.9 one of the tasks that lost'),
  },
  {
    name: '3.9 running tasks give way to a suspect that could not start',
    file: `${core}queue/claim.ts`,
    edits: [['this.isQuarantined(first) || lacksCredits', 'lacksCredits']],
    killedBy: conformance('limits', '3.9 an interactive suspect'),
  },
  {
    name: '8.10 a worker that was drained from outside is given tasks',
    file: `${persistence}engine/flush.ts`,
    edits: [['draining: row.draining || row.drainAsked,', 'draining: row.draining,']],
    killedBy: conformance('workers', '8.10'),
  },
  {
    name: '8.10 a worker that states its capacity anew takes its drain back',
    file: `${core}worker/registry.ts`,
    edits: [['drainAsked: known?.drainAsked ?? false,', 'drainAsked: false,']],
    killedBy: conformance('workers', '8.10'),
  },
  {
    name: '8.5 a worker is given tasks of lanes that it leaves to others',
    file: `${core}queue/placement.ts`,
    edits: [['lanes === undefined || lane === undefined || lanes.includes(lane)', 'true']],
    killedBy: conformance('workers', '8.5'),
  },
  {
    name: '8.5 a drain from outside forgets the lanes of a worker',
    file: `${core}worker/row.ts`,
    edits: [['own?.includes(lane) === false ? 4 << rank : 0', '0']],
    killedBy: conformance('workers', '8.5'),
  },
  {
    name: '3.10 a task of a paused type is started',
    file: `${core}queue/claim.ts`,
    edits: [['!isPaused(ws, stream) &&', '']],
    killedBy: conformance('order', '3.10'),
  },
  {
    name: '4.12 a task that runs is given a second time by its id',
    file: `${core}queue/claim-task.ts`,
    edits: [["if (task.state !== 'queued') return refused('not_queued')", '']],
    killedBy: conformance('workers', '4.12'),
  },
  {
    name: '4.12 a worker is given tasks by their ids without end',
    file: `${core}queue/claim-task.ts`,
    edits: [['return live.size < worker.capacity', 'return true']],
    killedBy: conformance('workers', '4.12'),
  },
  {
    name: '8.11 a schema that cannot be told counts as another',
    file: `${core}worker/type-settings.ts`,
    edits: [['mine === theirs || isUntold', 'mine === theirs']],
    killedBy: coreTest('worker/type-settings', '8.11'),
  },
  {
    name: '8.12 settings that were replaced come back with a program of before',
    file: `${core}config/in-force.ts`,
    edits: [['(last !== undefined && same.id < last.id)', 'false']],
    killedBy: coreTest('config/in-force', '8.12'),
  },
  {
    name: '8.12 settings are in force whose processes have all ended',
    file: `${core}config/in-force.ts`,
    edits: [['.filter(({ processes }) => processes > 0)', '']],
    killedBy: coreTest('config/in-force', '8.12'),
  },
  {
    name: '8.12 a process goes on by the settings that it had',
    file: `${persistence}engine/transaction.ts`,
    edits: [['  if (!(yield* inForce.take(row))) return\n', '  if (row !== undefined) return\n']],
    killedBy: [settings, '8.12'],
  },
  {
    name: '8.12 the settings of a dead process stay in force where it is found dead',
    file: `${persistence}engine/transaction.ts`,
    edits: [['if (work.gone.length > 0) yield* outlive(it, work.gone)', '']],
    killedBy: [settings, '8.12 a process that dies'],
  },
  {
    name: 'I11 a worker is given one task more than it has slots',
    file: `${core}queue/placement.ts`,
    edits: [['worker.inFlight < worker.capacity &&', 'worker.inFlight <= worker.capacity &&']],
    killedBy: coreTest('queue/placement', 'I11|3.2 a full worker'),
  },
  {
    name: 'I11 a worker unseen for the whole TTL is given a task',
    file: `${core}worker/worker.ts`,
    edits: [['leaseAt - lastSeenAt >= leaseTtlMs', 'leaseAt - lastSeenAt > leaseTtlMs']],
    killedBy: coreTest('queue/placement', '3.2 a worker unseen'),
  },
  {
    name: 'I12 of one lane the last submitted comes first',
    file: `${core}queue/order.ts`,
    edits: [['a.sequence - b.sequence', 'b.sequence - a.sequence']],
    killedBy: conformance('order', '3.3'),
  },
  {
    name: 'I12 the batch lane goes before the others',
    file: `${core}queue/order.ts`,
    edits: [['a.laneRank - b.laneRank', 'b.laneRank - a.laneRank']],
    killedBy: coreTest('queue/order', 'I12'),
  },
  {
    name: 'I13 one more is accepted than the queue may hold',
    file: `${core}submit/admission.ts`,
    edits: [['if (it.depth >= limits.queueDepthLimit)', 'if (it.depth > limits.queueDepthLimit)']],
    killedBy: conformance('admission', '2.2'),
  },
  {
    name: 'I13 one more batch task is accepted than backpressure allows',
    file: `${core}submit/admission.ts`,
    edits: [["it.depth >= threshold && it.lane === 'batch'", "it.depth > threshold && it.lane === 'batch'"]],
    killedBy: conformance('admission', '2.4'),
  },
  {
    name: 'I6 a memo is written anew by whoever records last',
    file: `${core}step/record.ts`,
    edits: [['if (memo !== undefined) return', 'if (memo?.length === 0) return']],
    killedBy: conformance('handlers', 'C18'),
  },
  {
    name: 'C18 a step whose result was null runs again',
    file: `${core}history/replay.ts`,
    edits: [
      ['if (memo === undefined) return run', "if (memo === undefined || memo.result === 'null') return run"],
    ],
    killedBy: ['packages/agent-runtime/test/durable/steps.test.ts', 'a memo of null answers'],
  },
  {
    name: 'C14 a step whose input has changed is answered with the old result',
    file: `${core}history/replay.ts`,
    edits: [['inputHash !== memo.inputHash', 'inputHash.length !== memo.inputHash.length']],
    killedBy: ['packages/agent-runtime/test/durable/steps.test.ts', 'H13'],
  },
  {
    name: '7.1 a second use of a key in one pass gets the memo of the first',
    file: `${runtime}durable/pass/pass.ts`,
    edits: [['used: this.#used })', 'used: new Map<string, Place>() })']],
    killedBy: ['packages/agent-runtime/test/durable/steps.test.ts', 'G08'],
  },
  {
    name: 'E03 what a handler made whose value came too late is left behind',
    file: `${runtime}execution/attempt.ts`,
    edits: [
      [
        'if (this.stopped !== undefined || !this.handlerEnded) return this.stop(stop)',
        'return this.stop(stop)',
      ],
    ],
    killedBy: [
      'packages/agent-runtime/test/execution/cancellation.test.ts',
      'just before its lease was over',
    ],
  },
  {
    name: 'I18 a handler whose task was canceled is not aborted',
    file: `${runtime}execution/attempt.ts`,
    edits: [
      ['    this.#controller?.abort(stop.error)\n    this.#stopDependants', '    this.#stopDependants'],
    ],
    killedBy: ['packages/agent-runtime/test/execution/cancellation.test.ts', 'E02'],
  },
  {
    name: '5.1 the hooks of a handler that failed run beside a command that still runs',
    file: `${runtime}execution/attempt.ts`,
    edits: [
      [
        '    if (this.#dependants !== undefined)\n',
        "    if (failed) this.#runHooks('failed')\n    if (this.#dependants !== undefined)\n",
      ],
    ],
    killedBy: ['packages/agent-runtime/test/durable/exec.test.ts', '5.1 the hooks of a handler that failed'],
  },
  {
    name: '11.5 what a step charged whose result came too late for its lease is dropped',
    file: `${runtime}execution/lease-writer.ts`,
    edits: [['this.#usage.owe(operation.charged)', '{}']],
    killedBy: ['packages/agent-runtime/test/durable/charges.test.ts', 'came too late for its lease'],
  },
  {
    name: '11.5 a try that ran out of time goes on charging',
    file: `${runtime}durable/step/step-moves.ts`,
    edits: [
      ['return hears(step, { tried }) && step.state.as', "return step.state.as !== 'ended' && step.state.as"],
    ],
    killedBy: ['packages/agent-runtime/test/durable/charges.test.ts', 'ran out of time charges nothing more'],
  },
  {
    name: '12.4 a wait on its way to the store is asked for again when the pass yields',
    file: `${runtime}durable/wait/waits.ts`,
    edits: [['filter(({ asked, isOnItsWay }) => !asked && !isOnItsWay)', 'filter(({ asked }) => !asked)']],
    killedBy: ['packages/agent-runtime/test/durable/waits.test.ts', 'it takes one signal'],
  },
  {
    name: '12.4 the command of a branch that lost its race runs on',
    file: `${runtime}durable/exec/exec.ts`,
    edits: [['if (scope.parent !== undefined) this.#follow(scope.signal)', '']],
    killedBy: ['packages/agent-runtime/test/durable/exec.test.ts', 'a branch that lost its race'],
  },
  {
    name: '5.5 the end of a child does not move the line for room in a pass that stays',
    file: `${runtime}durable/child/child.ts`,
    edits: [['        this.#pass.rooms.tryAgain()\n', '']],
    killedBy: ['packages/agent-runtime/test/durable/room.test.ts', 'lets the first in line try again'],
  },
  {
    name: '3.6 a handler that is canceled after it was asked to yield loses its slot before it ends',
    file: `${runtime}execution/attempt.ts`,
    edits: [
      [
        "    if (this.stopped !== undefined || this.handlerEnded) return\n    this.#release('yielded')",
        "    this.#release('yielded')",
      ],
    ],
    killedBy: [
      'packages/agent-runtime/test/execution/scheduling.test.ts',
      'canceled after it was asked to yield',
    ],
  },
  {
    name: '12.4 a signal that is waited for after a longer sleep is looked for when that ends',
    file: `${runtime}durable/wait/waits.ts`,
    edits: [
      ['if (this.#look !== undefined && this.#look.at <= at) return', 'if (this.#look !== undefined) return'],
    ],
    killedBy: ['packages/agent-runtime/test/durable/waits.test.ts', 'only after a longer sleep'],
  },
  {
    name: '12.3 a pass that stays looks too late for the end of a sleep that an earlier pass began',
    file: `${runtime}durable/wait/waits.ts`,
    edits: [['    if (open !== undefined) return open.dueAt\n', '']],
    killedBy: ['packages/agent-runtime/test/durable/waits.test.ts', 'an earlier pass began'],
  },
  {
    name: '5.5 a child that is called when the line for room is gone waits for ever',
    file: `${runtime}durable/wait/room.ts`,
    edits: [['      this.#isClosed = false\n', '']],
    killedBy: ['packages/agent-runtime/test/durable/room.test.ts', 'when the line is gone'],
  },
  {
    name: '12.4 a branch that went on with a step wins over one that the history had ended',
    file: `${runtime}durable/step/step-run.ts`,
    edits: [['    this.#scope.answered(LIVE)\n', '']],
    killedBy: ['packages/agent-runtime/test/durable/branches.test.ts', 'a memo ended wins'],
  },
  {
    name: '5.1 the time limit of a command that has ended runs on',
    file: `${runtime}durable/exec/exec.ts`,
    edits: [['    for (const end of this.#ends) end()\n', '']],
    killedBy: ['packages/agent-runtime/test/durable/exec.test.ts', 'leaves no timer and no listener'],
  },
  {
    name: '7.7 what a try says is heard that has run out of time',
    file: `${runtime}durable/step/step-moves.ts`,
    edits: [["!('tried' in news && news.tried !== tried)", 'tried >= 0']],
    killedBy: ['packages/agent-runtime/test/durable/step-moves.test.ts', 'nothing that an earlier try says'],
  },
  {
    name: '7.6 a try that ran out of time is not in doubt',
    file: `${runtime}durable/step/step-moves.ts`,
    edits: [
      [
        'const isLate = isA(reason, TimeoutError)',
        'const isLate = isA(reason, TimeoutError) && given.tried < 0',
      ],
    ],
    killedBy: ['packages/agent-runtime/test/durable/step-moves.test.ts', 'so is a try that ran out of time'],
  },
  {
    name: '12.4 what memos answered before the time of a race was over does not count',
    file: `${runtime}durable/branch/branch-moves.ts`,
    edits: [['index < late.results || seq < late.seq', 'index < late.results']],
    killedBy: ['packages/agent-runtime/test/durable/branch-moves.test.ts', 'its time decides'],
  },
  {
    name: '5.1 clean-up hooks run beside the commands that are being stopped',
    file: `${runtime}execution/attempt.ts`,
    edits: [
      [
        'if (this.#stopping === undefined) return this.#startHooks(this.#hooks, reason)',
        'return this.#startHooks(this.#hooks, reason)',
      ],
    ],
    killedBy: ['packages/agent-runtime/test/durable/exec.test.ts', '5.1'],
  },
  {
    name: '5.6 a stop gives hooks no time after the commands',
    file: `${runtime}worker/shutdown.ts`,
    edits: [
      ['deadlines, config.killGraceMs + config.cleanupTimeoutMs', 'deadlines, config.cleanupTimeoutMs'],
    ],
    killedBy: ['packages/agent-runtime/test/durable/exec.test.ts', '5.6'],
  },
  {
    name: 'a file that is cut within its last page verifies',
    file: 'packages/agent-runtime-persistence/src/care/verify/verify-database.ts',
    edits: [['else if (!Number.isInteger(pages))', 'else if (pages < 0)']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify.test.ts', 'wherever that is'],
  },
  {
    name: '5.6 a stop waits for a store that does not answer',
    file: `${runtime}worker/shutdown.ts`,
    edits: [
      [
        'deadlines.after(grace + config.killGraceMs + config.cleanupTimeoutMs + LAST_WRITES_MS, over.resolve)',
        '',
      ],
    ],
    killedBy: ['packages/agent-runtime-server/test/remote/stops.test.ts', '5.6'],
  },
  {
    name: '5.6 a worker that is to end goes on to show that it takes tasks',
    file: `packages/agent-runtime-cli/src/worker/readiness.ts`,
    edits: [["signal.addEventListener('abort', () => ready.tell(false), { once: true })", '']],
    killedBy: ['packages/agent-runtime-cli/test/reload.test.ts', 'takes no tasks from that moment on'],
  },
  {
    name: '5.5 a child of an unknown type, given by name, is accepted',
    file: `${runtime}client/submissions.ts`,
    edits: [['parentType.startsWith(RESERVED)', "typeof item.task === 'string'"]],
    killedBy: ['packages/agent-runtime/test/durable/children.test.ts', 'refused in every pass'],
  },
  {
    name: '13.3 the coordinator of a graph has to define its nodes',
    file: `${runtime}client/submissions.ts`,
    edits: [['parentType.startsWith(RESERVED)', "parentType === ''"]],
    killedBy: ['packages/agent-runtime/test/graph/graph.test.ts', 'need not define'],
  },
  {
    name: '7.4 the keys of a record are stored as they come',
    file: `${core}codec/write.ts`,
    edits: [['if (!isSorted(keys)) keys.sort()', '']],
    killedBy: ['packages/agent-runtime-core/test/codec/codec.test.ts', 'whatever the order of keys'],
  },
  {
    name: 'I17 a key answers for another payload',
    file: `${core}submit/submit.ts`,
    edits: [['if (bound.payloadHash === payloadHash(ws, it))', "if (bound.payloadHash !== '')"]],
    killedBy: conformance('admission', '2.7'),
  },
  {
    name: 'I18 the holder of a canceled task is not told',
    file: `${core}task/cancel.ts`,
    edits: [["    notice(ws, lease, 'canceled', reason)\n", '']],
    killedBy: conformance('leases', 'cancel'),
  },
  {
    name: 'I22 children outlive a parent that has ended',
    file: `${core}task/settle.ts`,
    edits: [['  cancelChildren(ws, task, `its parent has ${state}`)\n', '']],
    killedBy: conformance('handlers', '5.5'),
  },
  {
    name: 'I19 a task that has ended keeps its quotas',
    file: `${core}task/settle.ts`,
    edits: [["  hold(ws, row, 'running', 'none')\n", '']],
    killedBy: conformance('limits', '2.6|C4'),
  },
  {
    name: 'I19 a quota leaves its last place empty',
    file: `${core}quota/room.ts`,
    edits: [['value + asked <= max', 'value + asked < max']],
    killedBy: coreTest('quota/room', 'C4 reject|2.8 a window'),
  },
  {
    name: 'I19 a window of a quota never ends',
    file: `${core}quota/room.ts`,
    edits: [['counters.windowStart === window ? counters : emptyWindow', 'counters']],
    killedBy: conformance('limits', '2.8'),
  },
  {
    name: 'I20 timers fire a millisecond early',
    file: `${core}wait/suspend.ts`,
    edits: [
      [
        'dueAt ?? (it.delayMs === undefined ? null : Math.ceil(ws.now.at + it.delayMs))',
        'dueAt ?? (it.delayMs === undefined ? null : Math.ceil(ws.now.at + it.delayMs) - 1)',
      ],
    ],
    killedBy: conformance('handlers', '12.3'),
  },
  {
    name: '12.4 a wait takes the newest signal',
    file: `${core}wait/suspend.ts`,
    edits: [['unread.findIndex((it)', 'unread.findLastIndex((it)']],
    killedBy: conformance('handlers', '12.4'),
  },
  {
    name: '12.2 the fifth rejection fails a task, not the fourth',
    file: `${core}approval/review.ts`,
    edits: [['if (rejections < terms.maxRetries)', 'if (rejections <= terms.maxRetries)']],
    killedBy: conformance('handlers', '12.2'),
  },
  {
    name: '12.2 a rejection leaves the steps since the last approval',
    file: `${core}approval/review.ts`,
    edits: [['    ws.forget(task.id, before.approvedSeq)\n', '']],
    killedBy: conformance('handlers', '12.2'),
  },
  {
    name: '12.3 a second verdict counts as well',
    file: `${core}approval/resolve.ts`,
    edits: [['wait === undefined || isAnswered || isLate', 'wait === undefined || isLate']],
    killedBy: conformance('handlers', '12.3'),
  },
  {
    name: '4.1 a heartbeat does not move the end of its lease',
    file: `${core}lease/upkeep.ts`,
    edits: [
      [
        'expiresAt: leaseAt + ws.config.leaseTtlMs, lastHeartbeatAt',
        'expiresAt: lease.expiresAt, lastHeartbeatAt',
      ],
    ],
    killedBy: conformance('leases', '4.1|B16'),
  },
  {
    name: '11.1 credits do not count',
    file: `${core}share/fairness.ts`,
    edits: [['Math.max(credits / MICRO, 1)', 'Math.max(defaultCredits, 1)']],
    killedBy: conformance('limits', '11.4'),
  },
  {
    name: '11.5 a refund takes a client below its floor',
    file: `${core}share/fairness.ts`,
    edits: [
      [
        'Math.max(Math.min(it.time, it.floor), it.time + (it.settled - it.charged))',
        'it.time + (it.settled - it.charged)',
      ],
    ],
    killedBy: coreTest('share/fairness', '11.5 a refund'),
  },
  {
    name: '11.5 a budget ends its tree at the line, not beyond it',
    file: `${core}budget/debit.ts`,
    edits: [
      ['const used = addUse(row.used, spent)\n', 'const used = addUse(row.used, addUse(spent, spent))\n'],
    ],
    killedBy: conformance('limits', '11.5'),
  },
  {
    name: '10.3 a half-open circuit lets every probe through',
    file: `${core}route/circuit.ts`,
    edits: [
      [
        "if (it.state === 'half_open') return { admitted: false, retryAfterMs: 0, probing: true }",
        "if (it.state === 'half_open') return { admitted: true, probe: true }",
      ],
    ],
    killedBy: conformance('leases', '10.3'),
  },
  {
    name: 'I15 the chain does not cover the time of an event',
    file: `${core}history/hash.ts`,
    edits: [['\\n${type}\\n${at}\\n${data}', '\\n${type}\\n${data}']],
    killedBy: ['packages/agent-runtime-core/test/history/hash.test.ts', '6.2'],
  },
  {
    name: '6.2 an edited history is not noticed',
    file: `${persistence}sqlite/integrity.ts`,
    edits: [['if (!isSame(hash, stored))', 'if (hash.length !== stored.length)']],
    killedBy: ['packages/agent-runtime/test/replay/edited.test.ts', 'H08'],
  },
  {
    name: '4.8 a blocked event loop keeps its leases for ever',
    file: `${persistence}engine/engine.ts`,
    edits: [
      ['this.setting.stalledMs() < config.maxStallMs', 'this.setting.stalledMs() < Number.POSITIVE_INFINITY'],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/open/engine.test.ts', '4.8'],
  },
  {
    name: 'T1 an acknowledged commit is not synced to the disk',
    file: `${persistence}sqlite/open.ts`,
    edits: [['{ normal: 1, full: 2 }', '{ normal: 1, full: 1 }']],
    killedBy: ['packages/agent-runtime-persistence/test/crash/durability.test.ts', 'T1'],
  },
  {
    name: 'T6 a commit is answered before the anchor has it',
    file: `${persistence}engine/engine.ts`,
    edits: [
      [
        '      yield* got(this.db.afterCommit({ wrote, mono }))\n',
        '      if (this.untaken === undefined) yield* got(this.db.afterCommit({ wrote, mono }))\n',
      ],
      [
        '    this.taken(untaken)\n',
        '    this.taken(untaken)\n    yield* got(this.db.afterCommit({ wrote: true, mono: 0 }))\n',
      ],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/open/engine.test.ts',
      'T6 an answer comes after the anchor',
    ],
  },
  {
    name: 'a turn is decided before the last commit is taken into the cache',
    file: `${persistence}engine/engine.ts`,
    edits: [['      yield* this.takeIn()\n      yield* this.run(', '      yield* this.run(']],
    killedBy: [
      'packages/agent-runtime-persistence/test/open/engine.test.ts',
      'a turn comes at once and does first',
    ],
  },
  {
    name: 'a flush does not look for a lease that was granted after the last tick',
    file: `${persistence}sqlite/database.ts`,
    edits: [["if (state === 'running') this.lapses", "if (state !== 'running') this.lapses"]],
    killedBy: ['packages/agent-runtime-persistence/test/open/engine.test.ts', 'run out since the last tick'],
  },
  {
    name: 'a flush does not look for what another process has made due',
    file: `${persistence}sqlite/database.ts`,
    edits: [['    this.dueTasks.forget()\n    this.lapses.forget()\n', '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/open/engine.test.ts',
      'a lease of another process that has run out',
    ],
  },
  {
    name: 'T6 the anchor is told of the first commit only',
    file: `${persistence}sqlite/anchor.ts`,
    edits: [
      [
        '    this.on(() => writeSync(file, this.slot, 0, slotBytes, (number % slots) * slotBytes))',
        '    if (number < 2) this.on(() => writeSync(file, this.slot, 0, slotBytes, (number % slots) * slotBytes))',
      ],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/lost-tail.proof.test.ts',
      'the anchor of an open store',
    ],
  },
  {
    name: 'T7 a store goes on after a commit that failed in the disk',
    file: `${persistence}sqlite/errors.ts`,
    edits: [
      [
        "code.startsWith('SQLITE_IOERR') || code.startsWith('SQLITE_CORRUPT')",
        "code.startsWith('SQLITE_CORRUPT')",
      ],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/crash/durability.test.ts', 'T7'],
  },
  {
    name: '5.8 tasks in states that nobody named are canceled, too',
    file: `${core}task/cancel.ts`,
    edits: [['(states?.includes(state) ?? true)', 'true']],
    killedBy: conformance('leases', 'in the states that are named'),
  },
  {
    name: 'B07 a holder hears of the end of its lease when it comes, not before',
    file: `${persistence}engine/held-leases.ts`,
    edits: [['const margin = this.config.leaseTtlMs / 10', 'const margin = 0']],
    killedBy: ['packages/agent-runtime-persistence/test/processes/two-stores.proof.test.ts', 'B07'],
  },
  {
    name: 'D25 a copy that is restored goes on as the store it was made of',
    file: `${persistence}sqlite/store-engine.ts`,
    edits: [['if (isMarkedCopy(db) || read.get() === lostBy)', 'if (read.get() === lostBy)']],
    killedBy: ['packages/agent-runtime-persistence/test/care/backup.test.ts', 'D25'],
  },
  {
    name: 'D25 a store that lost commits goes on as the one that it was',
    file: `${persistence}sqlite/store-engine.ts`,
    edits: [['if (isMarkedCopy(db) || read.get() === lostBy)', 'if (isMarkedCopy(db))']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/lost-tail.proof.test.ts',
      'is a new incarnation',
    ],
  },
  {
    name: 'D25 leases that lived in a copy live on where it is restored',
    file: `${persistence}sqlite/incarnations.ts`,
    edits: [['${endsLeases}; ', '']],
    killedBy: ['packages/agent-runtime-persistence/test/care/backup.test.ts', 'an earlier holder of a lease'],
  },
  {
    name: 'D25 leases that lived in a backup live on where it is imported',
    file: `${persistence}postgres/care/import.ts`,
    edits: [['    statement(endsLeases),\n', '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/move.proof.test.ts',
      'an earlier holder of a lease',
    ],
  },
  {
    name: 'D25 fencing tokens of a restored copy go on where they were',
    file: `${core}queue/start-queued.ts`,
    edits: [['Math.max(task.fence, ws.around.fenceFloor) + 1', 'task.fence + 1']],
    killedBy: ['packages/agent-runtime-persistence/test/care/backup.test.ts', 'its fencing tokens'],
  },
  {
    name: 'D03 leases that a refused write was flushed with are renewed an interval later',
    file: `${persistence}engine/engine.ts`,
    edits: [["    if (end !== 'committed') return\n", '']],
    killedBy: ['packages/agent-runtime-persistence/test/open/engine.test.ts', 'D03 costs no lease'],
  },
  {
    name: 'D03 after a refused write nothing is read again until somebody writes',
    file: `${persistence}engine/engine.ts`,
    edits: [['    this.claimable = true\n    const { error } = end', '    const { error } = end']],
    killedBy: ['packages/agent-runtime-persistence/test/open/engine.test.ts', 'D03 makes no schedule late'],
  },
  {
    name: 'A18 each statement of a flush is a commit of its own',
    file: `${persistence}engine/transaction.ts`,
    edits: [
      [
        '    const flushed = yield* flush(db, it.cache, it.around, now, { ...work, returning, looks: false }, it.lines)\n',
        '    yield* got(db.commit())\n    const flushed = yield* flush(db, it.cache, it.around, now, { ...work, returning, looks: false }, it.lines)\n    yield* got(db.begin(false))\n',
      ],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/crash/flush-of-every-kind.proof.test.ts', ': cancel'],
  },
  {
    name: 'H08 a commit is believed of which a record was deleted',
    file: `${persistence}care/verify/journal-rules.ts`,
    edits: [
      [
        '      if (kept !== undefined && kept.length >= last * 32) {\n        digest.update(kept.subarray((first - 1) * 32, last * 32))\n        continue\n      }\n',
        '',
      ],
      ['      if (!isBelieved)', '      if (!isBelieved && found.length > 0)'],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify.test.ts', 'beside refused submissions'],
  },
  {
    name: 'H08 verify takes whatever a store knows of itself',
    file: `${persistence}care/verify/meta-rules.ts`,
    edits: [
      ["if (since === 'made' || last > 0) faults.add('row', `meta, ${key}`, words, 'none')", ''],
      ['!form.test(value)', 'value.length > 100'],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/verify-rules.test.ts',
      'the facts that a store knows of itself',
    ],
  },
  {
    name: 'H08 verify reads no record of an accepted loss',
    file: `${persistence}care/verify/meta-rules.ts`,
    edits: [["readLosses(rows.get('accepted_losses'))", 'readLosses()']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/verify-rules.test.ts',
      'of two that were accepted',
    ],
  },
  {
    name: 'H08 verify compares no quota keys with those that a task names',
    file: `${persistence}care/verify/task-rules.ts`,
    edits: [['    checkQuotaKeys(row, { ...it, ...fallenBack(events) }, stream)\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-rules.test.ts', 'a quota key'],
  },
  {
    name: 'H08 verify lets a task go without a key that its provider has blocked',
    file: `${persistence}care/verify/task-rules.ts`,
    edits: [['held.includes(key) || mustHold.includes(key)', 'held.includes(key)']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/verify-rules.test.ts',
      'a key that a provider has blocked',
    ],
  },
  {
    name: 'H08 verify compares what clients have spent with nothing',
    file: `${persistence}care/verify/verify-database.ts`,
    edits: [['    compareSpent(tally, spent, after.retired, faults)\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-rules.test.ts', 'spent'],
  },
  {
    name: 'H08 verify reckons with what a task reported after its end',
    file: `${persistence}care/verify/task-rules.ts`,
    edits: [['costBy(events) || account.cost', '(account.used?.cost ?? 0) || account.cost']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-rules.test.ts', 'after its end'],
  },
  {
    name: 'H08 verify takes any task for the probe of a route',
    file: `${persistence}care/verify/record-rules.ts`,
    edits: [['if (type !== route && (', 'if (type === undefined && (']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-rules.test.ts', 'prob'],
  },
  {
    name: 'H08 verify takes whatever stands where JSON is kept',
    file: `${persistence}care/verify/verify-database.ts`,
    edits: [['    yield* checkForms(db, faults, slice)\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-rules.test.ts', 'that is no such thing'],
  },
  {
    name: '4.10 a process whose lock file was removed is never gone',
    file: `${persistence}sqlite/processes.ts`,
    edits: [['?? now - last_seen_at > silenceMs', '?? now - last_seen_at < 0']],
    killedBy: [
      'packages/agent-runtime-persistence/test/open/engine.test.ts',
      '4.10 a lock file that was removed',
    ],
  },
  {
    name: '7.7 the retry policy is not asked when the output schema refuses a result',
    file: `${core}task/outcome.ts`,
    edits: [["end.kind === 'timeout' || end.kind === 'invalid_output'", "end.kind === 'timeout'"]],
    killedBy: ['packages/agent-runtime/test/execution/outcome.test.ts', '7.7'],
  },
  {
    name: '7.7 the retry policy is not asked at the end of timeoutMs',
    file: `${core}task/outcome.ts`,
    edits: [["end.kind === 'timeout' || end.kind === 'invalid_output'", "end.kind === 'invalid_output'"]],
    killedBy: ['packages/agent-runtime/test/execution/cancellation.test.ts', '7.7'],
  },
  {
    name: 'H08 verify misses no row of a child that has ended',
    file: `${persistence}care/verify/task-rules.ts`,
    edits: [['      if (!keys.has(key))\n', '      if (!keys.has(key) && children.has(key))\n']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-rules.test.ts', 'a child that has ended'],
  },
  {
    name: 'H08 verify takes a text that does not parse for one of a commit without events',
    file: `${persistence}care/verify/journal-rules.ts`,
    edits: [['  } catch {\n    return undefined\n', '  } catch {\n    return []\n']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-rules.test.ts', 'does not parse'],
  },
  {
    name: 'H08 a verification after a seal takes any history for the one that was sealed',
    file: `${persistence}care/verify/journal-rules.ts`,
    edits: [
      [
        '    else if (!kept.equals(sealed)) this.faults',
        '    else if (kept.length !== sealed.length) this.faults',
      ],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-since.test.ts', 'is another one'],
  },
  {
    name: 'H08 a verification after a seal looks at no task that a commit touched',
    file: `${persistence}care/verify/journal-rules.ts`,
    edits: [['      this.touched?.add(task)\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-since.test.ts', 'each edit of an event'],
  },
  {
    name: 'H08 verify counts no chunks of output',
    file: `${persistence}care/verify/task-rules.ts`,
    edits: [['      faults.same(`task ${row.id}, output`, output.last, output.count)\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/care/verify-rules.test.ts', 'each chunk of output'],
  },
  {
    name: 'T6 a damaged log without its anchor opens with what is left',
    file: `${persistence}care/data-loss.ts`,
    edits: [['isInUse(path) ? undefined : damageIn(path)', 'undefined']],
    killedBy: ['packages/agent-runtime-persistence/test/care/damaged-log.test.ts', 'the store is refused'],
  },
  {
    name: 'T1 the doctor says nothing of a synchronous that is not what was asked for',
    file: `${persistence}care/inspect-store.ts`,
    edits: [['durability.synchronous[mode] !== expected)', 'durability.synchronous[mode] === undefined)']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/inspect.test.ts',
      'is not what this program gets',
    ],
  },
  {
    name: 'T1 the doctor fails where a store would not open for its synchronous',
    file: `${persistence}care/inspect-store.ts`,
    edits: [["if (typeof got === 'number') return got", '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/inspect.test.ts',
      'is not what this program gets',
    ],
  },
  {
    name: 'the doctor says nothing of a long log',
    file: `${persistence}care/inspect-store.ts`,
    edits: [['if (size.walBytes > maxWalBytes)', 'if (size.walBytes > 2 * maxWalBytes)']],
    killedBy: ['packages/agent-runtime-persistence/test/care/inspect.test.ts', 'a long log'],
  },
  {
    name: '10.3 a scar while a task is the probe of its circuit breaks the commit',
    file: `${core}route/observe.ts`,
    edits: [["row.state === 'half_open' ? row : { ...row, probe: null }", 'row']],
    killedBy: conformance('leases', '10.3 a scar while'),
  },
  {
    name: '7.7 jitter makes waits longer, not shorter',
    file: `${core}task/backoff.ts`,
    edits: [['(1 - backoff.jitter * random)', '(1 + backoff.jitter * random)']],
    killedBy: coreTest('task/backoff', 'jitter'),
  },
  {
    name: '6.3 the retry of a parent starts its failed children from nothing',
    file: `${core}history/inherit.ts`,
    edits: [
      [
        "return state === 'failed' || state === 'canceled'",
        "return state === 'rejected' || state === 'canceled'",
      ],
    ],
    killedBy: ['packages/agent-runtime/test/durable/children.test.ts', 'retry repeats no step'],
  },
  {
    name: '6.3 a fork keeps the step that it is forked from',
    file: `${core}history/fork.ts`,
    edits: [['from === undefined || position < from.data', 'from === undefined || position <= from.data']],
    killedBy: model('forked again and again'),
  },
  {
    name: '6.3 a retry of many starts another task each time',
    file: `${core}history/retry-many.ts`,
    edits: [['again ? {} : { idempotencyKey: retryKey(taskId) }', '{}']],
    killedBy: conformance('handlers', 'many are retried in one commit'),
  },
  {
    name: '6.3 what is given for a result is taken for a pattern',
    file: `${core}history/inherit.ts`,
    edits: [['() => `${value.text}}`', '`${value.text}}`']],
    killedBy: ['packages/agent-runtime-core/test/history/fork.test.ts', 'dollar signs and all'],
  },
  {
    name: '11.3 a client that comes back begins where it was, and is served until it has caught up',
    file: `${core}share/fairness.ts`,
    edits: [['undefined ? own : Math.max(own, leastActive)', 'undefined ? own : own']],
    killedBy: model('share what slots there are'),
  },
  {
    name: '11.3 a client that joins others at a quota begins where they were before they waited',
    file: `${core}share/share-book.ts`,
    edits: [['    this.clocks.sync(pool)\n    this.begin(client, pool)', '    this.begin(client, pool)']],
    killedBy: [
      'packages/agent-runtime-core/test/share/share-book.test.ts',
      'is not served before them for what they waited',
    ],
  },
  {
    name: 'a database with several hard links is opened',
    file: `${persistence}sqlite/open.ts`,
    edits: [['stat !== undefined && stat.nlink > 1', 'false']],
    killedBy: ['packages/agent-runtime-persistence/test/open/bad-databases.test.ts', 'a file with two names'],
  },
  {
    name: 'a name is opened of which the driver cuts white space off',
    file: `${persistence}sqlite/open.ts`,
    edits: [['if (!memory) assertNameKept(full)', '']],
    killedBy: ['packages/agent-runtime-persistence/test/open/bad-databases.test.ts', 'a name that ends in'],
  },
  {
    name: 'T6 an anchor that cannot be read is taken for none',
    file: `${persistence}sqlite/anchor.ts`,
    edits: [["if (last === undefined && /[^\\0]/.test(text)) return 'unreadable'", '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/lost-tail.proof.test.ts',
      'an anchor that cannot be read is reported',
    ],
  },
  {
    name: 'X11 whoever reads a closed store leaves files that lock its owner out',
    file: `${persistence}sqlite/reading.ts`,
    edits: [['  assertOwnerStaysIn(path)\n', '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/open/file-rights.proof.test.ts',
      'X11 a user whose files would',
    ],
  },
  {
    name: 'a row that nobody wrote so is an internal error',
    file: `${persistence}sqlite/errors.ts`,
    edits: [[' || cause instanceof DamagedRow', '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/fuzz/stored.test.ts',
      'store_corrupt, with what is wrong',
    ],
  },
  {
    name: 'T8 a flush does not look whether the files are still those that were opened',
    file: `${persistence}sqlite/database.ts`,
    edits: [['    assertSameFile(this.opened)\n    const version', '    const version']],
    killedBy: ['packages/agent-runtime-persistence/test/care/lost-file.test.ts', 'a log that is cut under'],
  },
  {
    name: '9.4 what an earlier pass has emitted is stored again',
    file: `${runtime}durable/output.ts`,
    edits: [['      if (left > 0) return\n', '']],
    killedBy: ['packages/agent-runtime/test/following.test.ts', 'before a wait is stored once'],
  },
  {
    name: 'an opened store is taken by a second runtime',
    file: `${runtime}store-handle.ts`,
    edits: [['if (!taken.has(store)) return', 'if (taken !== undefined) return']],
    killedBy: ['packages/agent-runtime/test/options.test.ts', 'one runtime’s at a time'],
  },
  {
    name: 'a range of the simulation that nothing was played of is kept',
    file: 'packages/agent-gym/src/cli/sim-command.ts',
    edits: [['run.seeds === 0 ? before : keep', 'run.seeds < 0 ? before : keep']],
    killedBy: [
      'packages/agent-gym/test/simulation/sim-command.proof.test.ts',
      'plays nothing, and keeps nothing',
    ],
  },
  {
    name: '14.2 a child that is started from outside has not the time of its supervisor to stop',
    file: `${core}supervision/start-child.ts`,
    edits: [['supervisor.terms.shutdownMs', 'undefined']],
    killedBy: [
      'packages/agent-runtime/test/supervision/supervision.test.ts',
      'a child that stops has the time',
    ],
  },
  {
    name: '14.3 a task that was handed over forgets it when its process dies',
    file: `${core}recovery/past-failure.ts`,
    edits: [['recovery !== undefined && handedOver !== undefined', 'handedOver !== undefined']],
    killedBy: coreTest('recovery/recovery', 'say who has it: handed over, and its process died'),
  },
  {
    name: '14.3 a pass that came to nothing counts as a try',
    file: `${core}recovery/past-failure.ts`,
    edits: [['      triesBefore += 1\n', '']],
    killedBy: coreTest('recovery/recovery', 'without those that came to nothing'),
  },
  {
    name: '14.3 a task is handed over in a circle',
    file: `${core}recovery/hand-over.ts`,
    edits: [['if (types.includes(to))', 'if (to === from)']],
    killedBy: coreTest('recovery/recovery', 'has no circle and an end'),
  },
  {
    name: '14.3 a task that was handed over runs its own handler',
    file: `${runtime}execution/worker.ts`,
    edits: [['other === undefined ? definition.handler(', 'other !== null ? definition.handler(']],
    killedBy: ['packages/agent-runtime/test/durable/hand-over.test.ts', 'calls the other task'],
  },
  {
    name: '11.9 a client that takes the settings of others is refused for its own',
    file: `${runtime}checked-options.ts`,
    edits: [["(settings === 'stated' && statedSettings(config) !== undefined)", 'config !== undefined']],
    killedBy: [
      'packages/agent-runtime/test/credits/agreements.test.ts',
      'a client whose settings keep no credits',
    ],
  },
  {
    name: '13.6 a part for an agent that the marketplace has not fails only when its turn comes',
    file: `${runtime}market/edges.ts`,
    edits: [['agents?.includes(agent) === false', 'agents?.includes(agent) === undefined']],
    killedBy: ['packages/agent-runtime/test/market/marketplace.test.ts', 'where the work is cut'],
  },
  {
    name: '14.3 in strict mode a handler runs before a person has answered',
    file: `${runtime}execution/worker.ts`,
    edits: [['attempt.suspendFirst()', 'attempt.suspend()']],
    killedBy: ['packages/agent-runtime/test/replay/strict-mode.test.ts', 'before which a person is asked'],
  },
  {
    name: '14.3 a person is asked about the process that died before it had asked them',
    file: `${core}recovery/pass-start.ts`,
    edits: [['crash.seq < answer.seq', 'crash.seq < 0']],
    killedBy: coreTest('recovery/pass-start', 'before the answer says nothing'),
  },
  {
    name: '14.3 a table is asked about a task whose memos could not be read',
    file: `${runtime}execution/worker.ts`,
    edits: [['if (definition.recovery === undefined) return threw', 'return threw']],
    killedBy: ['packages/agent-runtime/test/durable/hand-over.test.ts', 'makes no second one'],
  },
  {
    name: '14.3 a wait that the handler left open acts on the task that it was handed over to',
    file: `${core}task/requeue.ts`,
    edits: [['[] : waitsOfHandler(ws, task)', '[] : []']],
    killedBy: ['packages/agent-runtime/test/durable/hand-over.test.ts', 'has left open'],
  },
  {
    name: '14.3 a task with too many children cannot be handed over',
    file: `${core}child/spawn.ts`,
    edits: [[' && !isHandOver(it.key)', '']],
    killedBy: ['packages/agent-runtime/test/durable/hand-over.test.ts', 'as many children'],
  },
  {
    name: '14.3 verify does not look at the type of a child that a task was handed over to',
    file: `${persistence}care/verify/task-rules.ts`,
    edits: [['if (isHandOver(key)) faults', 'if (isHandOver(where)) faults']],
    killedBy: [
      'packages/agent-runtime-persistence/test/care/verify-rules.test.ts',
      'is of the type that the decision',
    ],
  },
  {
    name: '14.3 the other task has not the time to stop that the first has',
    file: `${core}recovery/hand-over.ts`,
    edits: [['shutdownMs === undefined ? {}', 'shutdownMs !== null ? {}']],
    killedBy: ['packages/agent-runtime/test/durable/hand-over.test.ts', 'has the time to stop'],
  },
  {
    name: '14.3 a task shows the model that it was submitted with, after it has fallen back',
    file: `${persistence}views/task-records.ts`,
    edits: [['if (attempt > 1)', 'if (attempt < 1)']],
    killedBy: ['packages/agent-runtime/test/durable/hand-over.test.ts', 'the models come first'],
  },
  {
    name: '14.3 the failure of another task loses the code that its handler gave it',
    file: `${core}error/record.ts`,
    edits: [["if (code !== 'handler_failed') return code", "if (code !== '') return code"]],
    killedBy: ['packages/agent-runtime/test/durable/hand-over.test.ts', 'also down a chain'],
  },
  {
    name: 'a list reads all that has happened to a task for the model that it has fallen back to',
    file: `${persistence}sqlite/schema.ts`,
    edits: [['event INDEXED BY event_fallback WHERE', 'event WHERE']],
    killedBy: [
      'packages/agent-runtime-persistence/test/limits/long-lists.test.ts',
      'the model that a task has fallen back to is found by an index',
    ],
  },
  {
    name: '14.3 a code of the runtime in the details of an error is believed',
    file: `${core}error/record.ts`,
    edits: [[' && !isErrorCode(own) ? own', ' ? own']],
    killedBy: ['packages/agent-runtime-core/test/error/record.test.ts', 'believes no code in details'],
  },
  {
    name: '14.3 a worker in another language runs its handler for a task that was handed over',
    file: 'packages/agent-runtime-server/src/remote/before-handler.ts',
    edits: [['if (other !== undefined) {', 'if (other === null) {']],
    killedBy: ['packages/agent-runtime-server/test/remote/requests.test.ts', 'the server calls the task'],
  },
  {
    name: '14.3 a worker in another language goes on although a person is to be asked',
    file: 'packages/agent-runtime-server/src/remote/before-handler.ts',
    edits: [["      return false\n    case 'refuse'", "      return true\n    case 'refuse'"]],
    killedBy: ['packages/agent-runtime-server/test/remote/requests.test.ts', 'the server asks a person'],
  },
  {
    name: '14.3 the other task has not the estimated cost that the fallback names',
    file: `${core}recovery/past-failure.ts`,
    edits: [['taskCost === undefined ? {}', 'taskCost !== null ? {}']],
    killedBy: ['packages/agent-runtime/test/durable/hand-over.test.ts', 'an agreement holds for both'],
  },
  {
    name: '14.3 a claim that the server cannot prepare keeps the others from its worker',
    file: 'packages/agent-runtime-server/src/routes/work.ts',
    edits: [['await putBack({ worker, claim, random }, error)', 'throw error']],
    killedBy: ['packages/agent-runtime-server/test/remote/requests.test.ts', 'goes back alone'],
  },
  {
    name: '14.3 a worker that does not run the other task says its settings',
    file: 'packages/agent-runtime-server/src/remote/before-handler.ts',
    edits: [['types.includes(task) && settings', 'settings']],
    killedBy: ['packages/agent-runtime-server/test/remote/requests.test.ts', 'is not called before'],
  },
  {
    name: '14.3 a hand-over without room comes again each second',
    file: 'packages/agent-runtime-server/src/remote/before-handler.ts',
    edits: [['attempt - crashes, begun', '1, begun']],
    killedBy: ['packages/agent-runtime-server/test/remote/requests.test.ts', 'longer each time'],
  },
  {
    name: '14.3 hand-overs without room that were put back together come again together',
    file: 'packages/agent-runtime-server/src/remote/before-handler.ts',
    edits: [['begun.random.next()', '0']],
    killedBy: ['packages/agent-runtime-server/test/remote/requests.test.ts', 'longer each time'],
  },
  {
    name: '14.3 a worker in another language makes the server call what its token does not allow',
    file: 'packages/agent-runtime-server/src/remote/before-handler.ts',
    edits: [['beyondTypes(worker.caller, task)', "beyondTypes({ name: '', scopes: new Set() }, task)"]],
    killedBy: [
      'packages/agent-runtime-server/test/remote/requests.test.ts',
      'does not make the server call it',
    ],
  },
  {
    name: '14.3 the retry of a task that was handed over at a server begins the other one anew',
    file: 'packages/agent-runtime-server/src/remote/before-handler.ts',
    edits: [['asRetry === true && forkOf', 'asRetry !== true && forkOf']],
    killedBy: ['packages/agent-runtime-server/test/remote/requests.test.ts', 'retries the other one'],
  },
  {
    name: 'X14 14.3 a remote worker hands over to what its token does not allow',
    file: 'packages/agent-runtime-server/src/remote/permission.ts',
    edits: [['if (beyond === undefined) return operation', 'if (beyond !== null) return operation']],
    killedBy: ['packages/agent-runtime-server/test/remote/rights.test.ts', 'hands over to no other'],
  },
  {
    name: 'X14 a remote worker states the settings of task types that its token does not allow',
    file: 'packages/agent-runtime-server/src/remote/permission.ts',
    edits: [['[...types, ...Object.keys(settings ?? {})]', 'types']],
    killedBy: ['packages/agent-runtime-server/test/remote/rights.test.ts', 'hands over to no other'],
  },
  {
    name: '14.3 a composite failure gets what its weakest part asks for',
    file: `${core}recovery/recovery.ts`,
    edits: [['strengthOf(choice) > strengthOf(strongest)', 'strengthOf(choice) >= 0']],
    killedBy: coreTest('recovery/recovery', 'the strongest is associative'),
  },
  {
    name: '14.3 a task that falls back still counts for the model that it had',
    file: `${core}task/requeue.ts`,
    edits: [['fallBack(ws, task, model)', 'task.stream']],
    killedBy: conformance('leases', '14.3'),
  },
  {
    name: '14.2 a restart counts a millisecond too short',
    file: `${core}supervision/decide.ts`,
    edits: [['now <= then + it.periodMs', 'now < then + it.periodMs']],
    killedBy: coreTest('supervision/decide', '5 in 60 s'),
  },
  {
    name: '14.1 a supervisor starts a child again after the no of a person',
    file: `${core}task/settle.ts`,
    edits: [['refused === true || beyondRestart', 'beyondRestart']],
    killedBy: conformance('supervision', '14.1 14.3 a child that a person has refused'),
  },
  {
    name: '14.3 the no of a person is forgotten where the process dies before the end of the task',
    file: `${core}recovery/pass-start.ts`,
    edits: [["outcome !== 'approved'", "outcome !== 'approved' && about === last.seq"]],
    killedBy: [
      'packages/agent-runtime/test/durable/recovery-crash.proof.test.ts',
      'the no of a person is final',
    ],
  },
  {
    name: '14.3 the no of a person is settled as any other failure',
    file: `${runtime}execution/pass-start.ts`,
    edits: [["start.as === 'refuse'", "start.failure.reason === 'rejected'"]],
    killedBy: ['packages/agent-runtime/test/supervision/supervision.test.ts', 'a person who says no'],
  },
  {
    name: '14.2 what a supervisor supervises goes on when it starts again',
    file: `${core}supervision/restart.ts`,
    edits: [['if (child.row.task !== task.id) stopOne(ws, child, above.by)', 'void child']],
    killedBy: ['packages/agent-runtime-persistence/test/supervision/otp.test.ts', 'a model of OTP'],
  },
  {
    name: '14.2 the fork of a supervisor gives the results of the children of its source',
    file: `${runtime}supervision/define-supervisor.ts`,
    edits: [['`results of ${taskId} and after`', "`results of ${taskId === '' ? 'none' : 'all'}`"]],
    killedBy: ['packages/agent-runtime/test/supervision/supervision.test.ts', 'when they are forked'],
  },
  {
    name: '11.10 the parts of all resources count, and not the largest',
    file: `${core}share/dominant.ts`,
    edits: [['most = Math.max(most, amount / ', 'most += (amount / ']],
    killedBy: coreTest('share/dominant', 'sharing incentive'),
  },
  {
    name: '11.10 what a task held stays with its client when it is over',
    file: `${core}share/share-book.ts`,
    edits: [['by > 0 ? 1 : -1', '1']],
    killedBy: conformance('limits', '11.10 the client with the least'),
  },
  {
    name: '11.10 a client stays in its place when it holds more',
    file: `${core}share/share-book.ts`,
    edits: [['dominantOf(before, this.config) === dominantOf(after, this.config)', 'true']],
    killedBy: conformance('limits', '11.10 the client with the least'),
  },
  {
    name: '11.10 a process does not know what tasks held when it began',
    file: `${persistence}engine/warm.ts`,
    edits: [['cache.clients.set(name, { ...client, holds })', 'void holds']],
    killedBy: ['packages/agent-runtime-persistence/test/limits/shares.test.ts', 'begins later'],
  },
  {
    name: '13.6 the judgement of a job has another key in each pass',
    file: `${runtime}market/run-job.ts`,
    edits: [
      ['      taskId,\n      key,\n', "      taskId,\n      key: key + '/' + this.#ctx.fencingToken,\n"],
    ],
    killedBy: ['packages/agent-runtime/test/market/crash.proof.test.ts', 'one evaluation'],
  },
  {
    name: '13.6 a lost lease counts as an error of the agent',
    file: `${runtime}market/measures.ts`,
    edits: [['Math.max(1, task.attempt - task.crashes)', 'task.attempt']],
    killedBy: ['packages/agent-runtime/test/market/crash.proof.test.ts', 'one evaluation'],
  },
  {
    name: '13.6 a better reputation moves an agent down',
    file: `${core}market/rank.ts`,
    edits: [
      [
        'effectiveWeight(tierWeights[tier], beta, reputation) / most',
        'tierWeights[tier] / effectiveWeight(most, beta, reputation)',
      ],
    ],
    killedBy: coreTest('market/rank', 'a better reputation never moves'),
  },
  {
    name: '13.6 parts of a job cost more than its contract says',
    file: `${runtime}market/edges.ts`,
    edits: [['cost > micro(price)', 'cost > micro(price) * MICRO']],
    killedBy: ['packages/agent-runtime/test/market/marketplace.test.ts', 'take the place of its own'],
  },
  {
    name: '13.2 a stage receives an event twice',
    file: `${core}pipeline/log.ts`,
    edits: [
      [
        '    counts.set(head.type, (counts.get(head.type) ?? 0) + count)',
        '    counts.set(head.type, (counts.get(head.type) ?? 0) + count - 1)',
      ],
    ],
    killedBy: coreTest('pipeline/stages', 'each event of its types once'),
  },
  {
    name: '13.2 events of a key go to any partition',
    file: `${core}pipeline/log.ts`,
    edits: [['partitionFor(keyHashes?.[index] ?? null, nth', 'partitionFor(null, nth']],
    killedBy: coreTest('pipeline/stages', 'those of a key in order'),
  },
  {
    name: '13.2 a stage that failed ends the stream',
    file: `${core}child/spawn.ts`,
    edits: [
      [
        "  if (end.state === 'completed') endStage(ws, parent.id, child.key)",
        '  endStage(ws, parent.id, child.key)',
      ],
    ],
    killedBy: conformance('pipelines', 'ends no stream'),
  },
  {
    name: '13.2 a rejection makes what a stage received void',
    file: `${core}approval/approval.ts`,
    edits: [['key === READY_KEY || isPipelineMemo(key)', 'key === READY_KEY || key === isPipelineMemo.name']],
    killedBy: ['packages/agent-runtime/test/pipeline/pipeline.test.ts', 'sent back by a reviewer'],
  },
  {
    name: '13.2 nobody wakes the stage that is held back',
    file: `${core}pipeline/settle-pipelines.ts`,
    edits: [
      [
        'if (over !== undefined) conclude',
        "if (over !== undefined && over.key.includes('/events/')) conclude",
      ],
    ],
    killedBy: conformance('pipelines', 'is held back'),
  },
  {
    name: 'a process does not hear of one of the tasks that another one has touched',
    file: `${persistence}postgres/processes/touched.ts`,
    edits: [
      [
        '  return tasks\n',
        '  for (const task of [...tasks].slice(0, 1)) tasks.delete(task)\n  return tasks\n',
      ],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/touched.proof.test.ts', 'reads again'],
  },
  {
    name: 'a process does not say that it changed a row of another one without an event',
    file: `${persistence}postgres/processes/touched.ts`,
    edits: [['  if (lease !== null) return true\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/touched.proof.test.ts', 'without an event'],
  },
  {
    name: 'a process on a promoted standby looks only whether its commits are fewer',
    file: `${persistence}postgres/transactions.ts`,
    edits: [['this.isReconnected ? [this.seenQuestion()] :', 'this.isReconnected ? [] :']],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/fail-over.proof.test.ts',
      'got others since',
    ],
  },
  {
    name: 'D14 a store stops that could not ask for a minute whether a commit is stored',
    file: `${persistence}engine/engine.ts`,
    edits: [
      [
        '    if (waitedMs < unknownPatienceMs) return\n',
        '    if (waitedMs < unknownPatienceMs) return\n    throw outcomes.refusal(waitedMs)\n',
      ],
    ],
    killedBy: [away, 'a commit is under way that is'],
  },
  {
    name: 'D14 the minute in which nobody knows of a commit counts from when the server was away before it',
    file: `${persistence}engine/engine.ts`,
    edits: [['mono - this.lostSince', 'mono - (this.busySince ?? mono)']],
    killedBy: [away, 'goes away again during its first commit'],
  },
  {
    name: 'D01 a line that asks which leases its workers have waits as long as the lock is held',
    file: `${persistence}engine/engine.ts`,
    edits: [
      ['    this.heldAsks = this.heldAsks.filter(isPatient)\n', ''],
      ['[...refused, ...this.heldAsks]', 'refused'],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/open/engine.test.ts',
      'ten seconds of its own, as a call does',
    ],
  },
  {
    name: 'D14 a call is done after its caller was told that nobody knows',
    file: `${persistence}engine/engine.ts`,
    edits: [['batch.filter(({ call }) => !given.has(call))', 'batch.filter(() => given.size >= 0)']],
    killedBy: [away, 'a commit is under way that is'],
  },
  {
    name: 'D14 a call is done after its caller was told that nobody knows, where the commit before its own stands',
    file: `${persistence}engine/engine.ts`,
    edits: [['      this.forsake(it)\n', '      this.forsake(it)\n      this.unknown.clear()\n']],
    killedBy: [away, 'the first of two commits'],
  },
  {
    name: 'D14 a lease is renewed of which its caller was never told',
    file: `${persistence}engine/engine.ts`,
    edits: [['if (lease !== undefined) this.held.lapsed.add(lease)', 'void lease']],
    killedBy: [away, 'a caller is given a lease'],
  },
  {
    name: 'D14 a handler starts under a lease that ran out while its commit was unknown',
    file: `${persistence}engine/engine.ts`,
    edits: [['...this.inTime(flushed.claims)', '...flushed.claims']],
    killedBy: [away, 'no handler starts'],
  },
  {
    name: 'D14 the slot of a task that was given too late stays taken',
    file: `${persistence}engine/engine.ts`,
    edits: [['    this.hand(late, -1)\n', '']],
    killedBy: [away, 'no handler starts'],
  },
  {
    name: 'D14 a commit is done again that retention has cut out of the journal',
    file: `${persistence}postgres/processes/head.ts`,
    edits: [['missing.number < Number(base)', 'missing.number < 0']],
    killedBy: [away, 'retention cuts the journal'],
  },
  {
    name: 'D14 commits of which the server cannot tell whether they are stored are decided again',
    file: `${persistence}postgres/processes/under-way.ts`,
    edits: [
      ['lost?.reject(error instanceof StoreError ? error : this.untold(error))', 'lost?.reject(error)'],
    ],
    killedBy: [away, 'cannot tell what became'],
  },
  {
    name: 'D14 the closing of a store answers that nobody knows of a call that was never sent',
    file: `${persistence}engine/engine.ts`,
    edits: [
      [
        '          this.calls = []\n          this.stop(outcomes',
        '          this.draft.answers.pop()\n          this.stop(outcomes',
      ],
    ],
    killedBy: [away, 'is closed while'],
  },
  {
    name: 'a commit counts as stored where somebody else has raised the version to its own',
    file: `${persistence}postgres/processes/head.ts`,
    edits: [["version + 1, writer = 0'", "version + 1'"]],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/under-way.proof.test.ts',
      'is not taken for stored',
    ],
  },
  {
    name: 'D14 a follower does not get what could not be asked for while the server was away',
    file: `${persistence}engine/publisher.ts`,
    edits: [
      [
        '      if (!this.db.isPassing(error)) throw error\n    }\n  }\n\n  private *publishOwn',
        '      this.published = lastCommit\n      this.waiting.shift()\n      if (!this.db.isPassing(error)) throw error\n    }\n  }\n\n  private *publishOwn',
      ],
    ],
    killedBy: [away, 'a follower gets each task'],
  },
  {
    name: 'D14 nobody is told that the server of a store is away',
    file: `${persistence}postgres/connection/commit-session.ts`,
    edits: [['if (this.retryMs === 0) this.it.onReach', 'if (this.retryMs < 0) this.it.onReach']],
    killedBy: [away, 'a commit is under way that is'],
  },
  {
    name: 'a process commits on a standby that is not promoted',
    file: `${persistence}postgres/connection/commit-session.ts`,
    edits: [
      ["      if (rows[0]?.[0] !== 'on') return session\n", '      if (rows.length > 0) return session\n'],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/fail-over.proof.test.ts', 'loses nothing'],
  },
  {
    name: 'a process that was taken for dead leaves its workers unregistered',
    file: `${persistence}engine/flush.ts`,
    edits: [['  if (work.returning.length > 0) renew(ws, [], work.returning)\n', '']],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/taken-for-dead.proof.test.ts',
      'registers itself',
    ],
  },
  {
    name: 'C6 a worker on a line that was taken for gone stays registered',
    file: `${persistence}engine/flush.ts`,
    edits: [['  if (work.renew) removeGone(ws, cache.running.values())\n', '']],
    killedBy: ['packages/agent-runtime-server/test/remote/gone.proof.test.ts', 'in a file'],
  },
  {
    name: 'C6 a worker on a line that holds a lease is taken for gone',
    file: `${core}worker/registry.ts`,
    edits: [['if (!holding.has(row.id)) ', '']],
    killedBy: coreTest('worker/registry', 'C6'),
  },
  {
    name: 'C6 a worker on a line of this process that others took for gone stays so',
    file: `${persistence}engine/own-workers.ts`,
    edits: [[' || present.has(row.workerId)', '']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/taken-for-dead.proof.test.ts', 'C6'],
  },
  {
    name: 'a process that others cannot see registers its workers again',
    file: `${persistence}engine/transaction.ts`,
    edits: [['db.isSeen ? it.own', 'db.process > 0 ? it.own']],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/taken-for-dead.proof.test.ts',
      'once others can see',
    ],
  },
  {
    name: 'a process that was not given its turn in time goes to the lock of all commits',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [
      [
        'await session.batch([...begins, ...asking], 2 * waitMs)',
        'await session.batch([...begins, ...asking], 2 * waitMs).catch((error) => { Object.assign(this.it, { hasSessions: false }); throw error })',
      ],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts',
      'were not given the turn',
    ],
  },
  {
    name: 'a process among many waits for its turn as long as one among few',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [['others * patienceForOneMs)', 'patienceForOneMs)']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.test.ts', 'as long as some rounds'],
  },
  {
    name: 'turns are as long where leases are short',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [['leaseTtlMs / 4)', 'leaseTtlMs)']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.test.ts', 'a quarter of the time'],
  },
  {
    name: 'the turns of a process are as long, however short its leases are',
    file: `${persistence}postgres/database.ts`,
    edits: [['leaseTtlMs: () => this.config.leaseTtlMs', 'leaseTtlMs: () => 30_000']],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts',
      'short where its leases',
    ],
  },
  {
    name: 'a turn that began with much to write goes on with little for as long, whoever waits',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [['(this.hasMuch || this.mono() >= this.littleUntil)', '(this.hasMuch || this.mono() < 0)']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'goes on with little'],
  },
  {
    name: 'all that wait for the turn have the server keep rows that were changed',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [
      [
        'const line = `LOCK TABLE ${schema}.configuration IN SHARE UPDATE EXCLUSIVE MODE`',
        "const line = schema && 'SELECT 1'",
      ],
    ],
    killedBy: [
      'packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts',
      'only the first of those',
    ],
  },
  {
    name: 'a holder of the turn may stand still',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [['${key}, 0), ${idle(stillMs)}`', '${key}, 0), ${idle(0)}`']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'loses its connection'],
  },
  {
    name: 'a holder of the turn that has no limit of rest may stand still',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [['this.asked += 1', 'this.asked = 0']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'no limit of rest'],
  },
  {
    name: 'a look counts as one that found something because an earlier one did',
    file: `${persistence}engine/engine.ts`,
    edits: [['    this.found = false\n    this.due', '    this.due']],
    killedBy: ['packages/agent-runtime-persistence/test/open/engine.test.ts', 'nothing of an earlier one'],
  },
  {
    name: 'a process that is gone goes on waiting for the turn',
    file: `${persistence}postgres/connection/connections.ts`,
    edits: [['client_connection_check_interval TO 1000', 'client_connection_check_interval TO 0']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'leaves the line'],
  },
  {
    name: 'a process keeps its turn although another one hurries',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [
      ['    this.until = this.mono()\n    if (!this.isDeciding) this.end(session)\n', '    void session\n'],
    ],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'who hurries'],
  },
  {
    name: 'a turn waits for handlers no longer than at first',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [['const restMs = this.mono() - this.restsSince', 'const restMs = 0 * this.restsSince']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'waits for handlers'],
  },
  {
    name: 'a turn that waits for handlers learns of nobody who hurries',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [['if (this.mono() + leastLingerMs >= end) {', 'if (end > 0) {']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'learns meanwhile who'],
  },
  {
    name: 'a late renewal does not hurry',
    file: `${persistence}engine/engine.ts`,
    edits: [['      !due.isRenewalLate(mono) &&\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/processes/haste.test.ts', 'that is late hurries'],
  },
  {
    name: 'a process looks for commits of others in its turn',
    file: `${persistence}postgres/database.ts`,
    edits: [['    if (this.turn.isOn) return false\n', '']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'does not ask whether'],
  },
  {
    name: 'a renewal has others end their turns',
    file: `${persistence}engine/transaction.ts`,
    edits: [['hasTime: hasTime && operations', 'hasTime: hasTime && operations.length > 0 && operations']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'without haste'],
  },
  {
    name: 'a renewal that is due ends the commits that follow one another',
    file: `${persistence}engine/due.ts`,
    edits: [['Math.max(this.renewAt, this.firstSentAt) + mostLateMs', 'this.renewAt']],
    killedBy: ['packages/agent-runtime-persistence/test/processes/due.test.ts', 'a renewal is urgent'],
  },
  {
    name: 'a process keeps its turn while it has nothing to write',
    file: `${persistence}postgres/processes/turn.ts`,
    edits: [['this.restOn(session, Math.min(this.until, this.restsSince + this.lingerMs))', 'void session']],
    killedBy: ['packages/agent-runtime-persistence/test/postgres/turn.proof.test.ts', 'nothing is written'],
  },
  {
    name: 'a series counts each attempt that failed as a task that failed',
    file: `${core}store/series.ts`,
    edits: [["leaseState === 'failed' && taskState === 'failed'", "leaseState === 'failed'"]],
    killedBy: coreTest('store/series', 'no attempt that is repeated'),
  },
  {
    name: 'a series counts runs where retention has deleted some, and not the samples',
    file: `${core}series/merged.ts`,
    edits: [['isCovered || isPartly ? countsOf', 'isPartly ? countsOf']],
    killedBy: coreTest('series/samples', 'where runs were deleted'),
  },
  {
    name: 'samples of a minute are kept for as long as those of an hour',
    file: `${core}series/sample.ts`,
    edits: [['[MINUTE_MS, 24 * HOUR_MS]', '[MINUTE_MS, 30 * 24 * HOUR_MS]']],
    killedBy: conformance('records', 'samples of a minute are kept'),
  },
  {
    name: 'samples are not kept where nothing else has changed',
    file: `${core}transition/working-set.ts`,
    edits: [['      this.samples.length > 0 ||\n', '']],
    killedBy: conformance('records', 'samples take the place'),
  },
  {
    name: '13.2 events that were kept for a later pass all have the time of the first',
    file: `${runtime}durable/pipeline/received.ts`,
    edits: [['if (last?.at === at)', 'if (last !== undefined)']],
    killedBy: ['packages/agent-runtime/test/pipeline/reads.test.ts', 'as they were kept'],
  },
  {
    name: '13.2 a stage that was canceled in its slot goes on waiting',
    file: `${runtime}durable/pipeline/stage-call.ts`,
    edits: [
      [
        '    if (this.#scope.closedBy !== undefined) return this.refuse()\n    const { position } = this.#it\n    const wait',
        '    const { position } = this.#it\n    const wait',
      ],
    ],
    killedBy: ['packages/agent-runtime/test/pipeline/pipeline.test.ts', 'keep their slot'],
  },
  {
    name: '13.2 a stage does not hear of what came with the answer that had nothing for it',
    file: `${runtime}durable/pipeline/stage-call.ts`,
    edits: [['if (this.#wasTold) return this.#try()', '']],
    killedBy: ['packages/agent-runtime/test/pipeline/told.test.ts', 'in the commit'],
  },
  {
    name: '13.2 a stage gives up its slot although a later pass would take longer to come here',
    file: `${runtime}durable/pipeline/stage-call.ts`,
    edits: [['this.#it.wayBackMs + 3 * (now - askedAt)', '3 * (now - askedAt)']],
    killedBy: ['packages/agent-runtime/test/pipeline/told.test.ts', 'as a later pass would take'],
  },
  {
    name: '13.2 a stage that keeps its slot does not hear of other processes',
    file: `${runtime}durable/pipeline/stage.ts`,
    edits: [['wait).every(isToldOf)) return false', 'wait).length > 0) return false']],
    killedBy: ['packages/agent-runtime/test/pipeline/told.test.ts', 'gets room that another process'],
  },
  {
    name: '13.2 all that wait for room ask for it at once',
    file: `${runtime}durable/pipeline/stir.ts`,
    edits: [['for (const it of others) it.moved()', 'for (const it of others) it.heard()']],
    killedBy: ['packages/agent-runtime/test/pipeline/told.test.ts', 'one that waits at a time'],
  },
  {
    name: '13.2 a stage that keeps its slot does not hear that a stage has ended',
    file: `${runtime}durable/pipeline/stir.ts`,
    edits: [['this.stir([endTopicOf(parentId)])', 'return']],
    killedBy: ['packages/agent-runtime/test/pipeline/told.test.ts', 'the end of the stream at once'],
  },
  {
    name: '14.3 a task type does not replace an entry of its domain',
    file: `${runtime}terms/recovery-policy.ts`,
    edits: [['({ ...it.recovery, ...own })', '({ ...own, ...it.recovery })']],
    killedBy: ['packages/agent-runtime/test/durable/recovery.test.ts', 'the table of a domain'],
  },
  {
    name: 'a series takes a run that a later one followed for the last of its task',
    file: `${persistence}views/series.ts`,
    edits: [
      ['taskState: isLast === 1 ? taskStates[taskState] : undefined', 'taskState: taskStates[taskState]'],
    ],
    killedBy: conformance('records', 'an attempt that was repeated'),
  },
  {
    name: 'a list of supervisors counts restarts that are over',
    file: `${persistence}views/supervisors.ts`,
    edits: [['(name === RESTART_NAME && at >= from ? [at] : [])', '(name === RESTART_NAME ? [at] : [])']],
    killedBy: conformance('supervision', 'a restart that is over'),
  },
  {
    name: 'a list of supervisors leaves out those that ended',
    file: `${persistence}views/supervisors.ts`,
    edits: [
      ['...(only ? [] : parents.all(before, limit + 1))', '...(only ? parents.all(before, limit + 1) : [])'],
    ],
    killedBy: conformance('supervision', 'supervisors are listed'),
  },
  {
    name: 'a process that reads nothing is never cut off',
    file: 'packages/agent-runtime-server/src/remote/line-session.ts',
    edits: [
      [
        'if (this.#connection.waiting > this.#host.limits.maxLineBufferBytes) this.end()\n    else this.#connection.send(text)',
        'this.#connection.send(text)',
      ],
    ],
    killedBy: ['packages/agent-runtime-server/test/remote/flow.test.ts', 'cut off at the bound'],
  },
  {
    name: 'a process that sends more calls than were agreed on is read on',
    file: 'packages/agent-runtime-server/src/remote/line-session.ts',
    edits: [['const held = this.#open > this.#host.limits.maxLineCalls', 'const held = false']],
    killedBy: ['packages/agent-runtime-server/test/remote/flow.test.ts', 'is held until'],
  },
  {
    name: 'a series shows no refusal where records of refusals are deleted',
    file: 'packages/agent-runtime-core/src/series/refused.ts',
    edits: [['return point.at < reach ? point : { ...point, refused }', 'return { ...point, refused }']],
    killedBy: conformance('records', 'as far back as their records reach'),
  },
  {
    name: '7.8 the time of a handler is read again in each pass',
    file: `${runtime}durable/context.ts`,
    edits: [
      [
        "    return this.#drawn('now', key, ({ clock }) => Math.floor(clock.now()))",
        '    void key\n    return Promise.resolve(Math.floor(this.#attempt.parts.environment.clock.now()))',
      ],
    ],
    killedBy: ['packages/agent-runtime/test/durable/time-and-chance.test.ts', 'are recorded'],
  },
  {
    name: '11.9 who has run out of credits is told with what the dearest of its queues needs',
    file: `${persistence}views/wait-counts.ts`,
    edits: [['it.missing < known.missing ? it : known', 'it.missing > known.missing ? it : known']],
    killedBy: conformance('limits', 'names the clients that have too few'),
  },
]
