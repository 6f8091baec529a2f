import { type ExecutionStore, invalid, show } from '@ku0/agent-runtime-core'
import { openStore } from '../../open-store.ts'
import { systemEnvironment } from '../../system.ts'
import { verify } from '../../care/verify-store.ts'
import { Connections, oldestServer } from '../connection/connections.ts'
import { loadDriver } from '../connection/driver.ts'
import { codeOf, storeErrorOf } from '../connection/errors.ts'
import { arrayParameter } from '../connection/parameters.ts'
import type { Session } from '../connection/session.ts'
import { isPostgresUrl, parsePostgresUrl, withoutPassword } from '../connection/url.ts'

/** One thing that the runtime needs of a database server. */
export interface ServerCheck {
  readonly name: string
  /** `store`: no store works without it. `sessions`: without it the URL has to say `pooler=transaction`. `advice`: for you to judge. */
  readonly needed: 'store' | 'sessions' | 'advice'
  /** Null if it could not be tried. */
  readonly ok: boolean | null
  readonly found: string
  /** Absent where all is well. */
  readonly remedy?: string
}

/** A database server as a store would find it. Source: `docs/postgresql-scale.md`. */
export interface ServerReport {
  /** A store can be used at this URL as it is. */
  readonly ok: boolean
  /** Without a password. */
  readonly location: string
  readonly checks: readonly ServerCheck[]
}

interface Probe {
  readonly url: string
  readonly connections: Connections
  /** The connection that most is asked on, and one beside it. */
  readonly one: Session
  readonly two: Session
}

type Answer = Pick<ServerCheck, 'ok' | 'found'> & { readonly remedy?: string | undefined }

/** See `probeServer`. */
export async function probe(url: string): Promise<ServerReport> {
  if (!isPostgresUrl(url))
    throw invalid(
      `probeServer: the URL of a PostgreSQL server, postgres://USER@HOST/DATABASE; given ${show(withoutPassword(url))}`,
    )
  const place = parsePostgresUrl(url)
  // Without statements that a server process remembers, so that a pooler is found out by what it does.
  const plain = { ...place, hasSessions: false }
  const connections = new Connections(await loadDriver(), plain, systemEnvironment().timers)
  const opened: Session[] = []
  try {
    const connect = async () => {
      const session = await connections.open('read')
      opened.push(session)
      return session
    }
    const it: Probe = { url, connections, one: await connect(), two: await connect() }
    const checks: ServerCheck[] = []
    for (const check of list) checks.push(await run(check, it, checks))
    const isWanted = ({ needed }: ServerCheck) =>
      needed === 'store' || (needed === 'sessions' && place.hasSessions)
    return {
      ok: checks.every((check) => check.ok !== false || !isWanted(check)),
      location: place.location,
      checks,
    }
  } catch (error) {
    throw storeErrorOf(error, place.location)
  } finally {
    await Promise.all(opened.map((session) => session.end()))
  }
}

interface Listed {
  readonly name: string
  readonly needed: ServerCheck['needed']
  readonly remedy: string
  readonly try: (it: Probe, before: readonly ServerCheck[]) => Promise<Answer>
}

async function run(check: Listed, it: Probe, before: readonly ServerCheck[]): Promise<ServerCheck> {
  const { name, needed } = check
  let answer: Answer
  try {
    answer = await check.try(it, before)
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    answer = { ok: false, found: `${codeOf(error)} ${text}`.trim() }
    for (const session of [it.one, it.two])
      if (session.lost === undefined) await session.run('ROLLBACK').catch(() => undefined)
  }
  const { ok, found, remedy = check.remedy } = answer
  return { name, needed, ok, found, ...(ok === true ? {} : { remedy }) }
}

const list: readonly Listed[] = [
  {
    name: 'version',
    needed: 'store',
    remedy: `upgrade the server to PostgreSQL ${oldestServer} or later`,
    try: async ({ one }) => {
      const [number, version, text] = await first(
        one,
        "SELECT current_setting('server_version_num')::bigint, current_setting('server_version'), version()",
      )
      const product = String(text).startsWith('PostgreSQL') ? 'PostgreSQL' : String(text).slice(0, 60)
      return { ok: Number(number) >= oldestServer * 10_000, found: `${product} ${String(version)}` }
    },
  },
  {
    name: 'encoding',
    needed: 'store',
    remedy: "make a database with CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
    try: async ({ one }) => {
      const [encoding] = await first(one, "SELECT current_setting('server_encoding')")
      return { ok: encoding === 'UTF8', found: String(encoding) }
    },
  },
  {
    name: 'writable',
    needed: 'store',
    remedy:
      'name the primary: a standby, or a role or database with default_transaction_read_only, takes no writes',
    try: async ({ one }) => {
      const [standby, readOnly] = await first(
        one,
        "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')",
      )
      const isStandby = standby === 1
      return {
        ok: !isStandby && readOnly === 'off',
        found: isStandby ? 'a standby' : readOnly === 'off' ? 'a primary' : 'read-only',
      }
    },
  },
  {
    name: 'rights',
    needed: 'store',
    remedy:
      'GRANT CREATE ON DATABASE to the role, or make the schema with CREATE SCHEMA name AUTHORIZATION role',
    try: async ({ one, connections }) => {
      const { schema } = connections.place
      const [role, makes, isThere, owns] = await first(
        one,
        `SELECT current_user::text, has_database_privilege(current_database(), 'CREATE'), to_regnamespace($1::text) IS NOT NULL,
           CASE WHEN to_regnamespace($1::text) IS NOT NULL THEN has_schema_privilege($1::text, 'CREATE') AND has_schema_privilege($1::text, 'USAGE') ELSE FALSE END`,
        [schema],
      )
      const found =
        isThere === 1
          ? `role ${String(role)} ${owns === 1 ? 'may make tables in' : 'may make none in'} the schema ${schema}`
          : `role ${String(role)} ${makes === 1 ? 'may make' : 'may not make'} the schema ${schema}, which is not there`
      return { ok: isThere === 1 ? owns === 1 : makes === 1, found }
    },
  },
  {
    name: 'durability',
    needed: 'store',
    remedy:
      'turn fsync and full_page_writes on: without them a power loss takes commits that were acknowledged, or the database',
    try: async ({ one }) => {
      const [fsync, pages, commit] = await first(
        one,
        "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')",
      )
      return {
        ok: fsync === 'on' && pages === 'on',
        found: `fsync ${String(fsync)}, full_page_writes ${String(pages)}; synchronous_commit ${String(commit)}, which the store sets itself`,
      }
    },
  },
  {
    name: 'connections',
    needed: 'advice',
    remedy: 'raise max_connections, or put a pooler in between: each process takes three',
    try: async ({ one }) => {
      const [most, inUse] = await first(
        one,
        "SELECT current_setting('max_connections')::bigint, (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')",
      )
      const room = Math.floor((Number(most) - Number(inUse)) / 3)
      return {
        ok: room >= 4,
        found: `${String(inUse)} of ${String(most)} in use: room for ${room} processes`,
      }
    },
  },
  {
    name: 'round trip',
    needed: 'advice',
    remedy:
      'run the processes nearer to the server: a commit takes a round trip and the write, and processes commit one after the other',
    try: async ({ one }) => {
      const times: number[] = []
      for (let n = 0; n < 21; n++) {
        const begun = mono()
        await one.query('SELECT 1')
        times.push(mono() - begun)
      }
      const half = times.toSorted((a, b) => a - b)[10] ?? 0
      return { ok: half < 5, found: `${half.toFixed(2)} ms` }
    },
  },
  {
    name: 'clock',
    needed: 'store',
    remedy: 'the server has to tell its time with clock_timestamp, in microseconds',
    try: async ({ one }) => {
      const [before, after, rises] = await first(
        one,
        'SELECT (extract(epoch FROM a) * 1000)::double precision, (extract(epoch FROM clock_timestamp()) * 1000)::double precision, clock_timestamp() >= a FROM (SELECT clock_timestamp() AS a) AS told',
      )
      const offMs = Math.round(Number(after) - systemEnvironment().clock.now())
      return {
        ok: rises === 1 && Number(after) >= Number(before),
        found: `${offMs} ms from that of this machine; the server's counts`,
      }
    },
  },
  {
    name: 'sessions',
    needed: 'sessions',
    remedy: 'add pooler=transaction to the URL: a pooler hands the connection on after each transaction',
    try: async ({ one, two }) => {
      const kept = word()
      await one.run(`SET ku0.probe TO '${kept}'`)
      const seen = new Set<unknown>()
      let isKept = true
      for (let n = 0; n < 10; n++) {
        // In between another connection takes the server process that a pooler would hand out next.
        if (n % 2 === 1) await two.run('BEGIN; SELECT 1')
        await one.run('BEGIN')
        const [pid, found] = await first(one, "SELECT pg_backend_pid(), current_setting('ku0.probe', true)")
        await one.run('COMMIT')
        if (n % 2 === 1) await two.run('COMMIT')
        seen.add(pid)
        isKept &&= found === kept
      }
      return {
        ok: seen.size === 1 && isKept,
        found:
          seen.size === 1 && isKept
            ? 'a connection stays on one server process, and keeps its settings'
            : `ten transactions of one connection ran in ${seen.size} server processes; its settings were ${isKept ? 'kept' : 'lost'}`,
      }
    },
  },
  {
    name: 'session locks',
    needed: 'sessions',
    remedy:
      'add pooler=transaction to the URL: then silence tells that a process has died, and nobody takes turns',
    try: async ({ one, two }) => {
      const key = Number.parseInt(word(), 16) - 2 ** 31
      await first(one, 'SELECT pg_advisory_lock($1::bigint)', [key])
      const [taken] = await first(two, 'SELECT pg_try_advisory_lock($1::bigint)', [key])
      const [shown] = await first(
        two,
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND objid = ($1::bigint & 4294967295)::oid AND granted",
        [key],
      )
      const [freed] = await first(one, 'SELECT pg_advisory_unlock($1::bigint)', [key])
      const [next] = await first(two, 'SELECT pg_try_advisory_lock($1::bigint)', [key])
      if (next === 1) await first(two, 'SELECT pg_advisory_unlock($1::bigint)', [key])
      return {
        ok: taken === 0 && Number(shown) > 0 && freed === 1 && next === 1,
        found:
          taken !== 0
            ? 'two connections had one lock at once'
            : Number(shown) === 0
              ? 'pg_locks does not show them'
              : freed === 1 && next === 1
                ? 'one connection has a lock at a time, until it gives it back, and pg_locks shows it'
                : 'a lock was not given back',
      }
    },
  },
  {
    name: 'transaction locks',
    needed: 'store',
    remedy:
      'processes that open a store at once wait for each other by pg_advisory_xact_lock: the server has to have it',
    try: async ({ one, two }) => {
      const key = Number.parseInt(word(), 16) - 2 ** 31
      await one.run('BEGIN')
      await first(one, 'SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))', [String(key)])
      await two.run('BEGIN')
      const ask = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1::text, 0))'
      const [during] = await first(two, ask, [String(key)])
      await one.run('COMMIT')
      const [after] = await first(two, ask, [String(key)])
      await two.run('COMMIT')
      return {
        ok: during === 0 && after === 1,
        found:
          during === 0 && after === 1 ? 'held until the end of a transaction' : 'held by nobody, or for ever',
      }
    },
  },
  {
    name: 'notices',
    needed: 'sessions',
    remedy: 'add pooler=transaction to the URL: then processes look for the commits of others every 50 ms',
    try: async ({ one, two }) => {
      const channel = `ku0_probe_${word()}`
      const heard = Promise.withResolvers<number>()
      await two.run(`LISTEN ${channel}`)
      const begun = mono()
      two.client.on('notification', (notice) => {
        if (notice.channel === channel) heard.resolve(mono() - begun)
      })
      const { timers } = systemEnvironment()
      const timer = timers.after(2_000, () => heard.resolve(Number.NaN))
      await one.query('SELECT pg_notify($1::text, $2::text)', [channel, 'probe'])
      const tookMs = await heard.promise
      timer.cancel()
      await two.run(`UNLISTEN ${channel}`)
      return Number.isNaN(tookMs)
        ? { ok: false, found: 'none came within 2 s' }
        : { ok: true, found: `one came after ${tookMs.toFixed(1)} ms` }
    },
  },
  {
    name: 'one state for several reads',
    needed: 'store',
    remedy:
      'the server has to have REPEATABLE READ, and cursors in it: reads, copies and verify are of one moment',
    try: async ({ one }) => {
      await one.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const [level] = await first(one, "SELECT current_setting('transaction_isolation')")
      await one.run('DECLARE told NO SCROLL CURSOR FOR SELECT generate_series(1, 10)')
      const { rows } = await one.query('FETCH 4 FROM told')
      await one.run('COMMIT')
      return {
        ok: level === 'repeatable read' && rows.length === 4,
        found: `${String(level)}, ${rows.length} of 4 rows of a cursor`,
      }
    },
  },
  {
    name: 'lists as parameters',
    needed: 'store',
    remedy: 'the server has to take arrays in binary, and have unnest WITH ORDINALITY and LATERAL',
    try: async ({ one }) => {
      const [found] = await one.batch([
        {
          text: 'SELECT given.n, it.x FROM unnest($1::bigint[]) WITH ORDINALITY AS given (p1, n) CROSS JOIN LATERAL (SELECT given.p1 * 2 AS x) AS it ORDER BY given.n',
          values: [arrayParameter('bigint', [7, 8])],
        },
      ])
      const text = JSON.stringify(found?.rows)
      return {
        ok: text === '[[1,14],[2,16]]',
        found: text === '[[1,14],[2,16]]' ? 'read as they were sent' : text,
      }
    },
  },
  {
    name: 'tasks from end to end',
    needed: 'store',
    remedy:
      'see the error: a store was made in a schema of its own, used by two processes and verified, and something in that failed',
    try: wholeLife,
  },
]

/** Every statement of a store, on tables of its own: two processes share tasks, and what they have written is verified. */
async function wholeLife({ url, one }: Probe, before: readonly ServerCheck[]): Promise<Answer> {
  // A store works on a server that does not sync, until the power fails.
  const wanted = before.find(
    ({ name, needed, ok }) => needed === 'store' && ok === false && name !== 'durability',
  )
  if (wanted !== undefined) return { ok: null, found: 'not tried', remedy: `first see to: ${wanted.name}` }
  const [makes] = await first(one, "SELECT has_database_privilege(current_database(), 'CREATE')")
  if (makes !== 1)
    return {
      ok: null,
      found: 'not tried: the role may not make a schema for it',
      remedy: 'run the command once as a role with CREATE on the database, to try every statement',
    }
  const schema = `ku0_probe_${word()}`
  const place = new URL(url.trim().replace(/^postgresql:/i, 'postgres:'))
  place.searchParams.set('schema', schema)
  const unfit = before.some(({ needed, ok }) => needed === 'sessions' && ok === false)
  if (unfit) place.searchParams.set('pooler', 'transaction')
  const stores: ExecutionStore[] = []
  try {
    for (let n = 0; n < 2; n++) stores.push(await openStore(place.href, { thread: false }))
    const begun = mono()
    await shareTasks(stores as unknown as readonly [ExecutionStore, ExecutionStore])
    const tookMs = mono() - begun
    await Promise.all(stores.splice(0).map((store) => store.close()))
    const { ok, faults } = await verify(place.href, {})
    return {
      ok,
      found: ok
        ? `${tasks} tasks of two processes in ${Math.round(tookMs)} ms${unfit ? ', with pooler=transaction' : ''}, and they verify`
        : `what was written does not verify: ${faults[0]?.where ?? ''}`,
    }
  } finally {
    await Promise.all(stores.map((store) => store.close().catch(() => undefined)))
    await one.run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).catch(() => undefined)
  }
}

const tasks = 40

/** Each process submits half of the tasks, and both run what they get: a step, a chunk, an end. */
async function shareTasks([a, b]: readonly [ExecutionStore, ExecutionStore]): Promise<void> {
  const ended = Promise.withResolvers<void>()
  let left = tasks
  for (const [n, store] of [a, b].entries()) {
    const workerId = `probe ${n}`
    let credit = 4
    store.listen({
      failed: ended.reject,
      claimed: (claims) => {
        for (const { leaseId } of claims)
          void (async () => {
            await store.write({
              kind: 'recordStep',
              leaseId,
              key: 'step',
              position: 0,
              durationMs: 1,
              result: '1',
            })
            await store.write({ kind: 'appendOutput', leaseId, chunks: ['"chunk"'] })
            await store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: '1' } })
            left -= 1
            if (left === 0) ended.resolve()
            store.demand(workerId, (credit += 1))
          })().catch(ended.reject)
      },
    })
    await store.write({ kind: 'registerWorkers', workers: [{ workerId, capacity: 4, types: ['probe'] }] })
    store.demand(workerId, credit)
  }
  const half = Array.from(
    { length: tasks / 2 },
    () => ({ type: 'probe', lane: 'normal', input: '1' }) as const,
  )
  await Promise.all([a, b].map((store) => store.write({ kind: 'submit', tasks: half })))
  const timer = systemEnvironment().timers.after(60_000, () =>
    ended.reject(new Error(`${left} of ${tasks} tasks had not ended after a minute`)),
  )
  try {
    await ended.promise
  } finally {
    timer.cancel()
  }
}

async function first(
  session: Session,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly unknown[]> {
  return (await session.query(text, values)).rows[0] ?? []
}

/** A name that no other trial has: eight hex digits. */
function word(): string {
  return systemEnvironment().ids.uuid().slice(-8)
}

function mono(): number {
  return systemEnvironment().clock.monotonic()
}
