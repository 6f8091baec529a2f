import type { MessagePort } from 'node:worker_threads'
import type { Turn } from '../engine/turn.ts'
import { openPostgresLine } from '../postgres/store.ts'
import { chainDigest, systemEnvironment } from '../system.ts'
import type { AsyncLine } from './async-line.ts'
import { messagesIn } from './outbox.ts'
import { watchStalls } from './stall-watch.ts'
import { endMessage, pack, recordOf, type FromThread, type ThreadStart } from './thread-messages.ts'

/** A store on PostgreSQL in its own thread, whose event loop waits for messages and for the server. It is asked to end. */
export async function runPostgresStore(port: MessagePort, start: ThreadStart): Promise<void> {
  const environment = systemEnvironment()
  const say = (message: FromThread) => port.postMessage(message)
  const receive = (said: Turn) => {
    const turn = pack(said)
    if (turn !== undefined) say({ kind: 'turn', turn })
  }
  let line: AsyncLine
  try {
    line = await openPostgresLine(
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
        isVirtual: false,
        stalledMs: watchStalls(new Int32Array(start.signal), environment.clock),
      },
      { receive },
    )
  } catch (error) {
    say({ kind: 'refused', error: recordOf(error) })
    port.close()
    return
  }
  port.on('message', (text: string) => {
    if (text !== endMessage) {
      for (const message of messagesIn(text)) line.send(message)
      return
    }
    void end()
  })
  say({ kind: 'opened', info: line.info })

  async function end(): Promise<void> {
    await line.end()
    say({ kind: 'closed' })
    port.close()
  }
}
