// What is audited: a small server on this machine that is weak on purpose, with its files. Everything in it is made up.
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'

/** What the audit is told: a URL, ports and a folder, which are all that it may touch. */
export interface Scope {
  readonly url: string
  readonly ports: readonly number[]
  readonly folder: string
}

/** What is wrong with it, by the names of the findings: an audit that finds all of them has found everything. */
export const planted = [
  'a service that asks for no password',
  'a banner that names a version',
  'a header that names a version',
  'missing headers: content-security-policy, x-content-type-options',
  'a cookie that scripts can read: session',
  'a cookie that scripts can read: visit',
  'input that comes back as code',
  'files outside of the public folder',
  'a page for debugging',
  'a list of all files',
  'a password that everyone knows',
  'a secret in a file: app.env',
  'debugging is on: server.json',
  'no encryption: server.json',
  'every origin is allowed: server.json',
  'a key that everyone can read: service.key',
  'a script from the network that is run unread: deploy.sh',
] as const

/** Starts the server on free ports of this machine, and writes its files. */
export async function startTarget(folder: string): Promise<Scope & AsyncDisposable> {
  writeFiles(folder)
  const site = createServer(({ url = '', headers }, response) =>
    page(new URL(url, 'http://target'), headers.authorization, response),
  )
  let calls = 0
  const services = [
    // It drops its first visitor: whoever audits it has to come again.
    createTcpServer((socket) => {
      calls += 1
      if (calls === 1) socket.destroy()
      else greet(socket, '', () => '+PONG\r\n')
    }),
    createTcpServer((socket) =>
      greet(socket, '220 file store 1.0.3 ready\r\n', () => '530 log in first\r\n'),
    ),
    createTcpServer((socket) => greet(socket, '', () => '-NOAUTH a password is needed\r\n')),
  ]
  const ports = await Promise.all(services.map((service) => listen(service)))
  const sitePort = await listen(site)
  return {
    url: `http://127.0.0.1:${sitePort}`,
    ports,
    folder,
    async [Symbol.asyncDispose]() {
      site.closeAllConnections()
      await Promise.all([site, ...services].map((server) => new Promise((closed) => server.close(closed))))
    },
  }
}

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

function greet(socket: Socket, banner: string, answer: (said: string) => string): void {
  socket.on('error', () => socket.destroy())
  if (banner !== '') socket.write(banner)
  socket.on('data', (said) => socket.write(answer(said.toString())))
}

function page(
  { pathname, searchParams }: URL,
  authorization: string | undefined,
  response: ServerResponse,
): void {
  const say = (status: number, type: string, body: string) =>
    response.writeHead(status, { 'content-type': type, server: 'tinyhttp/0.9.2' }).end(body)
  switch (pathname) {
    case '/':
      response.setHeader('set-cookie', ['session=17; Path=/', 'visit=1; Path=/'])
      return void say(200, 'text/html', '<h1>The shop</h1>')
    case '/search':
      return void say(200, 'text/html', `<p>Nothing found for ${searchParams.get('q') ?? ''}</p>`)
    case '/echo':
      return void say(200, 'text/plain', searchParams.get('q') ?? '')
    case '/download':
      // It stands for a server that reads any path; this one knows two.
      return searchParams.get('file') === '../app.env'
        ? void say(200, 'text/plain', appEnv)
        : void say(200, 'text/plain', 'the price list')
    case '/debug':
      return void say(200, 'application/json', JSON.stringify({ DB_PASSWORD: 'hunter2' }))
    case '/files/':
      return void say(200, 'text/html', '<title>Index of /files/</title>')
    case '/admin': {
      const isKnown = authorization === `Basic ${Buffer.from('admin:admin').toString('base64')}`
      if (!isKnown) response.setHeader('www-authenticate', 'Basic')
      return void say(isKnown ? 200 : 401, 'text/html', '<h1>Administration</h1>')
    }
    default:
      return void say(404, 'text/html', '<h1>Not found</h1>')
  }
}

const appEnv = 'DB_HOST=db.internal\nDB_PASSWORD=hunter2\n'

function writeFiles(folder: string): void {
  mkdirSync(join(folder, 'docs'), { recursive: true })
  const write = (name: string, text: string, mode: number) => {
    writeFileSync(join(folder, name), text)
    chmodSync(join(folder, name), mode)
  }
  write('app.env', appEnv, 0o600)
  write('deploy.sh', '#!/bin/sh\ncurl -s http://updates.example/install | sh\n', 0o700)
  write('docs/sample.env', '# Copy this, and fill it in.\nAPI_PASSWORD=changeme\n', 0o600)
  write('server.json', JSON.stringify({ debug: true, tls: false, cors: '*', port: 8_080 }), 0o600)
  write('service.key', 'not a real key\n', 0o644)
}
