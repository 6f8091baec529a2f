import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { systemEnvironment } from '../../src/system.ts'

/**
 * Where the connection is cut: before the server has the commit, or after it has done it, whose answer the client then never gets.
 */
export type Cut = 'before the commit' | 'after the commit'

const { timers } = systemEnvironment()

/** Stands between a store and its server, and cuts connections where it is told to. */
export class CuttingProxy {
  /** Of the server, through this proxy. */
  readonly url: string
  /** Of the server itself: where new connections lead to. */
  target: string
  cuts = 0
  /** How often something came from a client. */
  trips = 0
  /** How many connections came from clients. */
  connections = 0
  /** How long each answer of the server takes, in ms; it is never made shorter, so answers stay in order. */
  delayMs = 0
  /** New connections are refused. */
  isDown = false
  /** The next commit that writes something reaches the server as a rollback, which answers it without an error. */
  rollsBack = false
  /** Called with the text of each statement that a client runs, before the server has it: where to cut the connection. The server does what it has by then. */
  atStatement: ((text: string) => 'before' | 'after' | undefined) | undefined
  private next: Cut | undefined
  private held: Held | undefined
  private readonly server: Server
  private readonly sockets = new Set<Socket>()

  private constructor(server: Server, target: string) {
    this.server = server
    this.target = target
    const url = new URL(target)
    url.port = String((server.address() as AddressInfo).port)
    url.hostname = '127.0.0.1'
    this.url = url.href
  }

  static async start(target: string): Promise<CuttingProxy> {
    const server = createServer((client) => {
      const { hostname, port } = new URL(proxy.target)
      proxy.relay(client, connect(Number(port || 5432), hostname))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const proxy = new CuttingProxy(server, target)
    onTestFinished(() => proxy.stop())
    return proxy
  }

  /** The next commit that writes something is cut so. */
  cutNext(cut: Cut): void {
    this.next = cut
  }

  /** From the next commit that writes something, one side hears nothing more. */
  hold(it: Holding): Hold {
    const first = Promise.withResolvers<void>()
    const all = Promise.withResolvers<void>()
    const held: Held = { ...it, first: first.resolve, all: all.resolve, queue: [], isLost: false }
    this.held = held
    const pass = () => {
      this.held = undefined
    }
    return {
      first: first.promise,
      all: all.promise,
      drop: () => {
        held.isLost = true
        pass()
      },
      go: () => {
        pass()
        for (const send of held.queue) send()
      },
    }
  }

  /** Cuts all connections, now. */
  cutAll(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  private relay(client: Socket, server: Socket): void {
    this.connections += 1
    if (this.isDown) {
      client.destroy()
      server.destroy()
      return
    }
    let isCutting = false
    let isCut = false
    const end = () => {
      client.destroy()
      if (!isCut) server.destroy()
    }
    /** The server has so much, and then nothing more. */
    const endAfter = (frames: readonly Frame[]) => {
      isCut = true
      this.cuts += 1
      server.end(bytesOf(frames))
      client.destroy()
    }
    const received = new Frames()
    for (const socket of [client, server]) {
      this.sockets.add(socket)
      socket.on('error', end).on('close', () => {
        this.sockets.delete(socket)
        end()
      })
    }
    const sent = new SentStatements()
    let commitsHeld = 0
    let own: Held | undefined
    let answers = 0
    client.on('data', (chunk: Buffer) => {
      if (isCut) return
      this.trips += 1
      const frames = received.take(chunk)
      if (frames.length === 0) return
      for (const [at, frame] of frames.entries()) {
        const text = sent.runBy(frame)
        const cut = text === undefined ? undefined : this.atStatement?.(text)
        if (cut === undefined) continue
        endAfter(frames.slice(0, cut === 'before' ? at : at + 1))
        return
      }
      const data = bytesOf(frames)
      const commits = sent.commitsIn(frames)
      if (this.next !== undefined && commits) {
        const cut = this.next
        this.next = undefined
        this.cuts += 1
        if (cut === 'before the commit') {
          end()
          return
        }
        isCutting = true
      }
      if (this.rollsBack && commits) {
        this.rollsBack = false
        server.write(rolledBack(data))
        return
      }
      // What comes after a gap is never read.
      if (own?.isLost === true) return
      const { held } = this
      if (held !== undefined && (commits || commitsHeld > 0)) {
        own = held
        if (commits) commitsHeld += 1
        held.first()
        const isLast = commits && commitsHeld === held.commits
        const isKept = held.side === 'client' || (isLast && held.isLastKept === true)
        if (isKept) held.queue.push(() => server.write(data))
        else server.write(data)
        if (isLast && isKept) held.all()
        return
      }
      server.write(data)
    })
    server.on('data', (data: Buffer) => {
      if (own?.isLost === true && own.side === 'server') return
      const { held } = this
      if (held?.side === 'server' && commitsHeld > 0) {
        held.queue.push(() => client.write(data))
        answers += data.toString('latin1').split('COMMIT\0').length - 1
        if (answers === held.commits) held.all()
      } else if (!isCutting) this.answer(client, data)
      else if (data.includes('COMMIT\0')) end()
    })
  }

  private answer(client: Socket, data: Buffer): void {
    if (this.delayMs === 0) client.write(data)
    else timers.after(this.delayMs, () => client.write(data))
  }

  private async stop(): Promise<void> {
    this.cutAll()
    this.server.close()
    await once(this.server, 'close')
  }
}

/** Of the same length. The statement is prepared for this commit alone, as it is behind a pooler. */
function rolledBack(data: Buffer): Buffer {
  const changed = Buffer.from(data)
  changed.write('ABORT ', changed.lastIndexOf('COMMIT\0'), 'latin1')
  return changed
}

/** What a proxy holds back: what the client sends, or what the server answers. */
interface Holding {
  readonly side: 'client' | 'server'
  readonly commits: number
  /** The server is not told of the last one. */
  readonly isLastKept?: boolean
}

interface Held extends Holding {
  readonly first: () => void
  readonly all: () => void
  readonly queue: (() => void)[]
  /** What was held back is lost. */
  isLost: boolean
}

interface Hold {
  /** Resolves once the client has sent the first commit. */
  readonly first: Promise<void>
  /** Resolves once all commits have come as far as they are let. */
  readonly all: Promise<void>
  /** What was held back is lost, and so is what comes after it on the same connection; what comes on others passes. */
  drop(): void
  /** What was held back passes. */
  go(): void
}

/** A message of a client; the first one of a connection has no letter. */
interface Frame {
  readonly letter: string
  readonly bytes: Buffer
  readonly body: Buffer
}

const bytesOf = (frames: readonly Frame[]) => Buffer.concat(frames.map(({ bytes }) => bytes))

/** The codes by which a client asks for TLS, and for GSSAPI. A standby does so. */
const asksToEncrypt: ReadonlySet<number> = new Set([80877103, 80877104])

/** Puts what a client sends together to whole messages. */
class Frames {
  private rest = Buffer.alloc(0)
  private isStarted = false

  take(data: Buffer): readonly Frame[] {
    this.rest = Buffer.concat([this.rest, data])
    const frames: Frame[] = []
    for (;;) {
      // The first message has no letter before its length. Before that a client may ask, in the same form, to encrypt.
      const before = this.isStarted ? 1 : 0
      if (this.rest.length < before + 4) return frames
      const end = before + this.rest.readInt32BE(before)
      if (this.rest.length < end) return frames
      const bytes = this.rest.subarray(0, end)
      const letter = this.isStarted ? String.fromCharCode(bytes[0] ?? 0) : ''
      frames.push({ letter, bytes, body: bytes.subarray(before + 4) })
      this.isStarted ||= !asksToEncrypt.has(bytes.readInt32BE(4))
      this.rest = this.rest.subarray(end)
    }
  }
}

/** Reads what a client sends, and tells where it commits something that it has written. */
class SentStatements {
  private writes = false
  private readonly texts = new Map<string, string>()
  private bound = ''

  commitsIn(frames: readonly Frame[]): boolean {
    return frames.filter((frame) => this.takes(frame)).length > 0
  }

  /** The statement that a message runs, if it runs one. */
  runBy({ letter, body }: Frame): string | undefined {
    const [first = '', second = ''] = body.toString('latin1').split('\0', 2)
    if (letter === 'P') this.texts.set(first, second)
    if (letter === 'B') this.bound = this.texts.get(second) ?? ''
    return letter === 'Q' ? first : letter === 'E' ? this.bound : undefined
  }

  private takes({ letter, body }: Frame): boolean {
    const [, second = ''] = body.toString('latin1').split('\0', 2)
    if (letter !== 'B') return false
    const text = this.texts.get(second) ?? ''
    if (text === 'BEGIN') this.writes = false
    if (text.includes('UPDATE head SET')) this.writes = true
    return text === 'COMMIT' && this.writes
  }
}
