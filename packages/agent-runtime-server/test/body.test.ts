import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { problemOf } from '../src/problem/problem.ts'
import type { Incoming, Reply } from '../src/wire/messages.ts'
import { listenerOf } from '../src/wire/node.ts'

/** What came of each body, in order, from a server that answers with the bodies it has read. */
type Seen = Promise<string>[]

/** A server on a port of its own; `before` runs once a head has come, and the body is read after that. */
async function echo(before: (incoming: Incoming) => unknown = () => {}) {
  const seen: Seen = []
  const answer = async (incoming: Incoming): Promise<Reply> => {
    const reading = read(incoming)
    seen.push(reading.catch((error: unknown) => String(error)))
    try {
      return { status: 200, headers: {}, body: await reading }
    } catch (error) {
      return problemOf(error).toReply('urn:uuid:1')
    }
  }
  const read = async (incoming: Incoming) => {
    const waited = before(incoming)
    if (waited instanceof Promise) await waited
    return Buffer.from(await incoming.bytes(LIMIT)).toString()
  }
  const server = createServer(listenerOf(answer, LIMIT, () => {})).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  return { client, seen }
}

const LIMIT = 1_000

const head = (length: number) => `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n`
const chunkedHead = 'POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n'

/** The bodies of so many answers. */
async function bodies(client: Socket, count: number): Promise<string[]> {
  let text = ''
  for await (const part of client.iterator({ destroyOnReturn: false })) {
    text += String(part)
    const found = [...text.matchAll(/content-length: (\d+)\r\n[^]*?\r\n\r\n/gi)].map((match) =>
      text.slice(match.index + match[0].length).slice(0, Number(match[1])),
    )
    if (found.length === count && text.endsWith(found.at(-1) ?? '')) return found
  }
  throw new Error(`the connection ended after ${text}`)
}

test('bodies that come with their heads are read, one request after the other on one connection', async () => {
  const { client } = await echo()
  client.write(`${head(3)}one`)
  expect(await bodies(client, 1)).toEqual(['one'])
  client.write(`${head(3)}two${head(0)}${head(5)}three`)
  expect(await bodies(client, 3)).toEqual(['two', '', 'three'])
})

test('a body that comes in parts is read as a whole', async () => {
  const { promise: headCame, resolve } = Promise.withResolvers<void>()
  const { client } = await echo(() => resolve())
  client.write(`${head(6)}abc`)
  await headCame
  client.write('def')
  expect(await bodies(client, 1)).toEqual(['abcdef'])
})

test('a body that has come before anybody reads it is read as a whole', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>()
  const { client } = await echo(() => go)
  client.write(`${chunkedHead}3\r\nabc\r\n`)
  client.write('3\r\ndef\r\n0\r\n\r\n', () => setImmediate(resolve))
  expect(await bodies(client, 1)).toEqual(['abcdef'])
})

test('a body that is larger than the limit is refused where it has come in one piece', async () => {
  const { client, seen } = await echo(() => nextTurn())
  const size = LIMIT + 1
  client.write(`${chunkedHead}${size.toString(16)}\r\n${'x'.repeat(size)}\r\n0\r\n\r\n`)
  const [body = ''] = await bodies(client, 1)
  expect(JSON.parse(body)).toMatchObject({ status: 413, code: 'payload_too_large' })
  expect(await seen[0]).toMatch(/larger than 1000 bytes/)
})

test('a body that is larger than the limit is refused where it comes in parts', async () => {
  const { promise: headCame, resolve } = Promise.withResolvers<void>()
  const { client } = await echo(() => resolve())
  client.write(`${head(LIMIT + 1)}${'x'.repeat(600)}`)
  await headCame
  client.write('x'.repeat(LIMIT + 1 - 600))
  const [body = ''] = await bodies(client, 1)
  expect(JSON.parse(body)).toMatchObject({ status: 413, code: 'payload_too_large' })
})

test('a body whose connection ends before it is whole is read by nobody', async () => {
  const { promise: headCame, resolve } = Promise.withResolvers<void>()
  const { client, seen } = await echo(() => resolve())
  client.write(`${head(6)}abc`)
  await headCame
  client.destroy()
  expect(await seen[0]).toMatch(/aborted|ended before the body/)
})

test('a body that is asked for after its connection has ended is refused at once', async () => {
  const { promise: headCame, resolve } = Promise.withResolvers<void>()
  const { client, seen } = await echo(async ({ signal }) => {
    resolve()
    await once(signal, 'abort')
  })
  client.write(`${head(6)}abc`)
  await headCame
  client.destroy()
  expect(await seen[0]).toMatch(/aborted|ended before the body/)
})

test('a request has no getter of its own, which would keep it until the next collection of all', async () => {
  const { promise: came, resolve } = Promise.withResolvers<Incoming>()
  const { client } = await echo(resolve)
  client.write(`${head(3)}one`)
  const getters = Object.values(Object.getOwnPropertyDescriptors(await came)).filter(
    (it) => it.get !== undefined,
  )
  expect(getters).toEqual([])
})

test.each([
  [
    'in chunks',
    chunkedHead,
    (size: number, text: string) => `${size.toString(16)}\r\n${text}\r\n`,
    '0\r\n\r\n',
  ],
  ['with its length', head(8_000_000), (_: number, text: string) => text, ''],
])(
  'a body far beyond the limit that comes %s is answered, also where the answer is read after all was sent',
  async (_, first, part, last) => {
    const { client } = await echo()
    client.write(first)
    const text = part(100_000, 'x'.repeat(100_000))
    for (let sent = 0; sent < 80; sent += 1)
      await new Promise<void>((done, fail) => {
        client.write(text, (error) => (error == null ? done() : fail(error)))
      })
    client.write(last)
    const [body = ''] = await bodies(client, 1)
    expect(JSON.parse(body)).toMatchObject({ status: 413, code: 'payload_too_large' })
  },
)
