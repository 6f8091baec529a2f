import type { MessagePort } from 'node:worker_threads'
import type { Turn } from '../engine/turn.ts'
import { openPostgresLine } from '../postgres/store.ts'
import { chainDigest, systemEnvironment } from '../system.ts'
import type { AsyncLine } from './async-line.ts'
import { messagesIn } from './outbox.ts'
import { watchStalls } from './stall-watch.ts'
import { endMessage, pack, recordOf, restWord, type FromThread, type ThreadStart } from './thread-messages.ts'

/** A store on PostgreSQL in its own thread, whose event loop waits for messages and for the server. It is asked to end. */
export async function runPostgresStore(port: MessagePort, start: ThreadStart): Promise<void> {
  const environment = systemEnvironment()
  const say = (message: FromThread) => port.postMessage(message)
  const signal = new Int32Array(start.signal)
  const receive = (said: Turn) => {
    // Of the first turn the line is not there yet.
    Atomics.store(signal, restWord, line?.rests === true ? 1 : 0)
    const turn = pack(said)
    if (turn !== undefined) say({ kind: 'turn', turn })
  }
  let line: AsyncLine | undefined
  let opened: AsyncLine
  try {
    opened = await openPostgresLine(
      {
        url: start.path,
        config: start.config,
        states: start.states,
        follows: start.follows,
        environment,
        chain: chainDigest,
        identity: start.identity,
        lines: start.lines,
        acceptLoss: start.acceptLoss,
        existing: start.existing,
        isVirtual: false,
        stalledMs: watchStalls(signal, environment.clock),
      },
      { receive },
    )
  } catch (error) {
    say({ kind: 'refused', error: recordOf(error) })
    port.close()
    return
  }
  line = opened
  port.on('message', (text: string) => {
    if (text !== endMessage) {
      for (const message of messagesIn(text)) opened.send(message)
      return
    }
    void end()
  })
  say({ kind: 'opened', info: opened.info })

  async function end(): Promise<void> {
    await opened.end()
    say({ kind: 'closed' })
    port.close()
  }
}
