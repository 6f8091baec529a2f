import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { runNow } from '../engine/steps.ts'
import type { Turn } from '../engine/turn.ts'
import { openStoreEngine, type StoreEngine } from '../sqlite/store-engine.ts'
import { chainDigest, systemEnvironment } from '../system.ts'
import { isPostgresUrl } from '../postgres/connection/url.ts'
import { messagesIn } from './outbox.ts'
import { watchStalls } from './stall-watch.ts'
import {
  type CareStart,
  endMessage,
  heardWord,
  hintWord,
  othersWord,
  pack,
  recordOf,
  restWord,
  wakeWord,
  type FromThread,
  type ThreadStart,
} from './thread-messages.ts'
import { HintPace } from './hint-pace.ts'

/** The longest wait for the process's first word; it comes within ms unless the machine is overloaded. */
const firstWordMs = 2_000
/** A process that hands a task over is often quiet for longer than that before it hands over the next. */
const quietMs = 1.5

/**
 * A store in its own thread: it waits for messages, takes a turn, says what came of it. Waiting blocks the thread on purpose:
 * nothing else runs in it, and waking that way is faster than its event loop. Never terminated from outside; it is asked to end.
 */
function runStore(port: MessagePort, start: ThreadStart): void {
  const environment = systemEnvironment()
  const signal = new Int32Array(start.signal)
  const say = (message: FromThread) => port.postMessage(message)
  const pace = new HintPace(quietMs)
  const stalledMs = watchStalls(signal, environment.clock)

  let store: StoreEngine
  try {
    store = openStoreEngine({ ...start, environment, chain: chainDigest, stalledMs })
  } catch (error) {
    say({ kind: 'refused', error: recordOf(error) })
    return
  }
  const { engine, database } = store
  say({ kind: 'opened', info: engine.info })
  const tell = (said: Turn): boolean => {
    if (said.claims.length > 0) Atomics.store(signal, restWord, 0)
    const turn = pack(said)
    if (turn !== undefined) say({ kind: 'turn', turn })
    return turn !== undefined
  }

  // The leases of dead processes end in the first turn: by then the process should have said what it wants to hear.
  Atomics.wait(signal, wakeWord, 0, firstWordMs)
  for (let open = true; open;) {
    const seen = Atomics.load(signal, wakeWord)
    for (let got = receiveMessageOnPort(port); got !== undefined; got = receiveMessageOnPort(port)) {
      const text = got.message as string
      if (text === endMessage) open = false
      else
        for (const message of messagesIn(text)) {
          const asked = engine.receive(message)
          if (asked !== undefined) runNow(asked)
        }
      tell(engine.takeReads())
    }
    if (!open) {
      tell(runNow(engine.finish()))
      break
    }
    const mono = environment.clock.monotonic()
    if (Atomics.exchange(signal, hintWord, 0) === 1 && database.mayHaveForeignCommit) pace.hear(mono)
    database.isHeard = Atomics.load(signal, heardWord) === 1
    const looks = pace.takes(mono)
    if (looks) engine.hint()
    // Nobody waits for what the engine does after that.
    const said = tell(runNow(engine.takeFirst()))
    runNow(engine.settle())
    Atomics.store(signal, restWord, engine.rests ? 1 : 0)
    if (looks) pace.looked(environment.clock.monotonic(), said || engine.hasFound)
    Atomics.store(signal, othersWord, database.others)
    const rest = Math.min(engine.restMs(), pace.at - environment.clock.monotonic())
    if (rest > 0) Atomics.wait(signal, wakeWord, seen, rest)
  }
  runNow(engine.close())
  say({ kind: 'closed' })
  port.close()
}

async function run(port: MessagePort, start: ThreadStart | CareStart): Promise<void> {
  if (!('path' in start)) {
    const { runCare } = await import('./care-thread.ts')
    await runCare(port, start)
    return
  }
  if (!isPostgresUrl(start.path)) {
    runStore(port, start)
    return
  }
  const { runPostgresStore } = await import('./postgres-thread.ts')
  await runPostgresStore(port, start)
}

if (parentPort !== null) void run(parentPort, workerData as ThreadStart | CareStart)
