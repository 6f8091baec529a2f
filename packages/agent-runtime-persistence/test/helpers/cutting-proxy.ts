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
    /** Since the transaction began; of other connections than that which commits nothing. */
    let written = 0
    let isCommitting = false
    client.on('data', (data: Buffer) => {
      isCommitting ||= data.includes('agent-runtime commit')
      written = data.includes('BEGIN;') ? data.length : written + data.length
      if (this.next !== undefined && isCommitting && written > writingBytes && data.includes('COMMIT\0')) {
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

/** A flush that writes nothing is shorter than this on the wire. */
const writingBytes = 700
