import { describe, expect, test } from 'vitest'
import { encode } from '../../src/codec/codec.ts'
import { describeError, toRuntimeError } from '../../src/error/record.ts'

const secret = 'Bearer sk-secret'
const kept = { 'retry-after': '7', 'x-ratelimit-remaining-requests': '0', 'x-request-id': 'req_1' }
const answered = { ...kept, 'set-cookie': 'a=b', authorization: secret, 'content-type': 'text/plain' }

/** The shapes in which HTTP clients throw; none of them is made of a client of ours. */
const shapes: Readonly<Record<string, () => object>> = {
  'an SDK with fetch headers': () => ({
    status: 429,
    headers: new Headers(answered),
    error: { text: 'body' },
  }),
  'the AI SDK': () => ({
    statusCode: 429,
    responseHeaders: answered,
    responseBody: 'body',
    requestBodyValues: { prompt: 'body' },
  }),
  axios: () => ({
    response: {
      status: 429,
      headers: answered,
      data: 'body',
      config: { headers: { Authorization: secret } },
    },
    config: { headers: { Authorization: secret } },
  }),
  ky: () => ({ response: new Response('body', { status: 429, headers: answered }) }),
  got: () => ({
    response: { statusCode: 429, headers: { ...answered, 'x-many': ['a', 'b'] }, body: 'body' },
  }),
  'the AWS SDK': () => ({
    $metadata: { httpStatusCode: 429 },
    $response: { headers: answered, body: 'body' },
  }),
}

/** The status and a header as a program reads them that knows its client. */
function readable(error: object): { readonly status: unknown; readonly header: unknown } {
  const places = [
    '$metadata.httpStatusCode',
    'response.status',
    'response.statusCode',
    'statusCode',
    'status',
  ]
  const status = places.map((place) => valueAt(error, place)).find((value) => value !== undefined)
  const bags = ['$response.headers', 'response.headers', 'responseHeaders', 'headers']
  const bag = bags.map((place) => valueAt(error, place)).find((value) => value !== undefined)
  const header =
    bag instanceof Headers ? bag.get('Retry-After') : (bag as Record<string, unknown>)['retry-after']
  return { status, header }
}

function valueAt(value: object, place: string): unknown {
  let at: unknown = value
  for (const key of place.split('.')) at = (at as Record<string, unknown> | undefined)?.[key]
  return at
}

describe('errors of HTTP clients', () => {
  test.each(Object.entries(shapes))('%s keeps its status and the headers that matter', (_, fields) => {
    const error = Object.assign(new Error('refused'), fields())
    const record = describeError(error)
    expect(record).toMatchObject({ status: 429, headers: kept })
    expect(Object.keys(record.headers ?? {})).toHaveLength(3)
    expect(encode(record, { what: 'an error' })).not.toMatch(/secret|body|cookie/)
  })

  test.each(Object.entries(shapes))('%s reads the same when it is thrown on', (_, fields) => {
    const error = Object.assign(new Error('refused'), fields())
    const again = toRuntimeError(describeError(error))
    const first = readable(error)
    expect(first).toMatchObject({ status: 429, header: '7' })
    expect(readable(again)).toEqual(first)
    expect(describeError(again)).toMatchObject({ status: 429, headers: kept })
  })

  test('an error without an HTTP status carries none, and an unreadable one is left out', () => {
    const hostile = {
      get response() {
        throw new Error('no')
      },
    }
    for (const fields of [
      {},
      { status: 'active' },
      { status: 7 },
      { status: 600 },
      { status: 429.5 },
      hostile,
    ]) {
      const record = describeError(
        Object.defineProperties(new Error('e'), Object.getOwnPropertyDescriptors(fields)),
      )
      expect(record).not.toHaveProperty('status')
      expect(record).not.toHaveProperty('headers')
    }
    expect(describeError(Object.assign(new Error('e'), { status: 500, headers: 5 }))).not.toHaveProperty(
      'headers',
    )
  })

  test('a function that is thrown has them as an object has', () => {
    const thrown = Object.assign(() => 0, {
      message: 'no',
      response: Object.assign(() => 0, { status: 429 }),
    })
    expect(describeError(thrown)).toMatchObject({ message: 'no', status: 429 })
  })

  test('a program may change what a restored error says', () => {
    const error = toRuntimeError({ name: 'Error', message: 'no', status: 429, headers: kept })
    expect(Object.assign(error, { status: 500, headers: {} })).toMatchObject({ status: 500, headers: {} })
  })

  test('the headers of a restored error are read as those of fetch are', () => {
    const record = describeError(Object.assign(new Error('e'), { status: 429, headers: kept }))
    const { headers } = toRuntimeError(record) as unknown as { readonly headers: Headers }
    expect(headers).toEqual(kept)
    expect([headers.get('Retry-After'), headers.has('Retry-After')]).toEqual(['7', true])
    expect([headers.get('x-other'), headers.has('x-other')]).toEqual([null, false])
  })

  test('many or long headers are cut', () => {
    const many = Object.fromEntries(
      Array.from({ length: 190 }, (_, n) => [
        `x-ratelimit-${'abcdefghij'[n % 10]}${'k'.repeat(n % 30)}`,
        '9'.repeat(500),
      ]),
    )
    const record = describeError(
      Object.assign(new Error('e'), { status: 429, headers: { ...many, 'Retry-After': 3 } }),
    )
    expect(record.headers).toMatchObject({ 'retry-after': '3' })
    expect(encode(record.headers, { what: 'headers' }).length).toBeLessThan(3_300)
    const headersOf = (headers: object) =>
      describeError(Object.assign(new Error('e'), { status: 429, headers })).headers
    expect(headersOf({ [`x-ratelimit-${'k'.repeat(40)}`]: '1', 'request-id': 'r' })).toEqual({
      'request-id': 'r',
    })
    const longest = `x-ratelimit-${'k'.repeat(36)}`
    expect(longest).toHaveLength(48)
    expect(headersOf({ [longest]: '1' })).toEqual({ [longest]: '1' })
    // Of a list without an end only the beginning is read.
    const read: string[] = []
    const endless = {
      *[Symbol.iterator]() {
        for (let at = 0; at < 1_000; at += 1) {
          read.push('')
          yield ['x-other', '1']
        }
      },
    }
    expect(headersOf(endless)).toBeUndefined()
    expect(read.length).toBeLessThan(300)
  })
})
