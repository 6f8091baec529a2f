import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import type { Turn } from '../engine/turn.ts'
import { StoreEngine } from '../sqlite/store-engine.ts'
import { chainDigest, systemEnvironment } from '../system.ts'
import { isPostgresUrl } from '../postgres/url.ts'
import { deliver } from './message.ts'
import { messagesIn } from './outbox.ts'
import { watchStalls } from './stall-watch.ts'
import { endMessage, pack, recordOf, wakeWord, type FromThread, type ThreadStart } from './thread-messages.ts'

/** The longest wait for the process's first word; it comes within ms unless the machine is overloaded. */
const firstWordMs = 2_000

/**
 * A store in its own thread: it waits for messages, takes a turn, says what came of it. Waiting blocks the thread on purpose:
 * nothing else runs in it, and waking that way is faster than its event loop. Never terminated from outside; it is asked to end.
 */
function runStore(port: MessagePort, start: ThreadStart): void {
  const environment = systemEnvironment()
  const signal = new Int32Array(start.signal)
  const say = (message: FromThread) => port.postMessage(message)
  const tell = (said: Turn) => {
    const turn = pack(said)
    if (turn !== undefined) say({ kind: 'turn', turn })
  }
  const stalledMs = watchStalls(signal, environment.clock)

  let engine: StoreEngine
  try {
    engine = StoreEngine.open({ ...start, environment, chain: chainDigest, stalledMs })
  } catch (error) {
    say({ kind: 'refused', error: recordOf(error) })
    return
  }
  say({ kind: 'opened', info: engine.info })

  // The leases of dead processes end in the first turn: by then the process should have said what it wants to hear.
  Atomics.wait(signal, wakeWord, 0, firstWordMs)
  for (let open = true; open;) {
    const seen = Atomics.load(signal, wakeWord)
    for (let got = receiveMessageOnPort(port); got !== undefined; got = receiveMessageOnPort(port)) {
      const text = got.message as string
      if (text === endMessage) open = false
      else for (const message of messagesIn(text)) deliver(engine, message)
      tell(engine.takeReads())
    }
    tell(open ? engine.take() : engine.finish())
    if (!open) break
    const rest = engine.restMs()
    if (rest > 0) Atomics.wait(signal, wakeWord, seen, rest)
  }
  engine.close()
  say({ kind: 'closed' })
  port.close()
}

async function run(port: MessagePort, start: ThreadStart): Promise<void> {
  if (!isPostgresUrl(start.path)) {
    runStore(port, start)
    return
  }
  const { runPostgresStore } = await import('./postgres-thread.ts')
  await runPostgresStore(port, start)
}

if (parentPort !== null) void run(parentPort, workerData as ThreadStart)
