import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * Where the connection is cut: before the server has the commit, or after it has done it, whose answer the client then never gets.
 */
export type Cut = 'before the commit' | 'after the commit'

/** Stands between a store and its server, and cuts connections where it is told to. */
export class CuttingProxy {
  /** Of the server, through this proxy. */
  readonly url: string
  cuts = 0
  /** New connections are refused. */
  isDown = false
  private next: Cut | undefined
  private readonly server: Server
  private readonly sockets = new Set<Socket>()

  private constructor(server: Server, target: string) {
    this.server = server
    const url = new URL(target)
    url.port = String((server.address() as AddressInfo).port)
    url.hostname = '127.0.0.1'
    this.url = url.href
  }

  static async start(target: string): Promise<CuttingProxy> {
    const { hostname, port } = new URL(target)
    const server = createServer((client) => proxy.relay(client, connect(Number(port || 5432), hostname)))
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

  /** Cuts all connections, now. */
  cutAll(): void {
    for (const socket of this.sockets) socket.destroy()
  }

  private relay(client: Socket, server: Socket): void {
    if (this.isDown) {
      client.destroy()
      server.destroy()
      return
    }
    let isCutting = false
    const end = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      this.sockets.add(socket)
      socket.on('error', end).on('close', () => {
        this.sockets.delete(socket)
        end()
      })
    }
    const sent = new SentStatements()
    client.on('data', (data: Buffer) => {
      const commits = sent.commitsIn(data)
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
      server.write(data)
    })
    server.on('data', (data: Buffer) => {
      if (!isCutting) client.write(data)
      else if (data.includes('COMMIT\0')) end()
    })
  }

  private async stop(): Promise<void> {
    this.cutAll()
    this.server.close()
    await once(this.server, 'close')
  }
}

/** Reads what a client sends, message by message, and tells where it commits something that it has written. */
class SentStatements {
  private rest = Buffer.alloc(0)
  private isStarted = false
  private writes = false
  private readonly texts = new Map<string, string>()

  commitsIn(data: Buffer): boolean {
    this.rest = Buffer.concat([this.rest, data])
    let commits = false
    for (;;) {
      // The first message has no letter before its length.
      const before = this.isStarted ? 1 : 0
      if (this.rest.length < before + 4) return commits
      const end = before + this.rest.readInt32BE(before)
      if (this.rest.length < end) return commits
      if (this.isStarted && this.takes(String.fromCharCode(this.rest[0] ?? 0), this.rest.subarray(5, end)))
        commits = true
      this.isStarted = true
      this.rest = this.rest.subarray(end)
    }
  }

  private takes(letter: string, body: Buffer): boolean {
    const [first = '', second = ''] = body.toString('latin1').split('\0', 2)
    if (letter === 'P') this.texts.set(first, second)
    if (letter !== 'B') return false
    const text = this.texts.get(second) ?? ''
    if (text === 'BEGIN') this.writes = false
    if (text.includes('UPDATE head SET')) this.writes = true
    return text === 'COMMIT' && this.writes
  }
}
