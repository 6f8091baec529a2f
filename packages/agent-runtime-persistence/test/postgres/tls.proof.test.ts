import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { startPostgres } from '../../../agent-gym/src/place/postgres-server.ts'
import { Authority } from '../helpers/certificates.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const trusted = new Authority('trusted')

interface Scene {
  /** Of the server, with what its URL is to say besides. */
  readonly url: (query: Readonly<Record<string, string>>) => string
  /** Writes a file, and returns its path. */
  readonly file: (name: string, text: string) => string
}

/** A server whose certificate is signed by `trusted` and names these hosts. Its roles may connect over TLS only. */
async function newScene(hosts: readonly string[]): Promise<Scene> {
  const { cert, key } = trusted.issue('server', hosts)
  const server = await startPostgres({
    fsync: false,
    settings: ['ssl=on', 'ssl_cert_file=server.crt', 'ssl_key_file=server.key', 'ssl_ca_file=ca.crt'],
    files: {
      'server.crt': cert,
      'server.key': key,
      'ca.crt': trusted.own.cert,
      'pg_hba.conf': 'hostssl all postgres 127.0.0.1/32 password\nhostssl all guest 127.0.0.1/32 cert\n',
    },
  })
  onTestFinished(server.stop)
  const folder = scratchFolder()
  return {
    url: (query) => withQuery(server.url, query),
    file: (name, text) => {
      writeFileSync(join(folder, name), text, { mode: 0o600 })
      return join(folder, name)
    },
  }
}

function withQuery(base: string, query: Readonly<Record<string, string>>): string {
  const url = new URL(base)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url.href
}

const task = { type: 'work', lane: 'normal', input: 'null' } as const

test('a store over TLS, to a server whose certificate is checked, works and verifies', async () => {
  const { url, file } = await newScene(['127.0.0.1'])
  const sslrootcert = file('ca.crt', trusted.own.cert)
  for (const sslmode of ['verify-full', 'require']) {
    const store = await openStore(url({ sslmode, sslrootcert }), { thread: false })
    expect(await store.write({ kind: 'submit', tasks: [task] })).toMatchObject([{ accepted: true }])
    await store.close()
  }
  expect(await verifyStore(url({ sslmode: 'verify-full', sslrootcert }))).toMatchObject({
    ok: true,
    tasks: 2,
  })
})

test('a client proves who it is with a certificate', async () => {
  const { url, file } = await newScene(['127.0.0.1'])
  const guest = trusted.issue('guest')
  const sslrootcert = file('ca.crt', trusted.own.cert)
  const admin = url({ sslmode: 'verify-full', sslrootcert })
  const own = new URL(
    url({
      sslmode: 'verify-full',
      sslrootcert,
      sslcert: file('guest.crt', guest.cert),
      sslkey: file('guest.key', guest.key),
      schema: 'of_guest',
    }),
  )
  own.username = 'guest'
  const client = new Client({ connectionString: admin })
  await client.connect()
  await client.query('CREATE ROLE guest LOGIN; CREATE SCHEMA of_guest AUTHORIZATION guest')
  await client.end()
  const store = await openStore(own.href, { thread: false })
  expect(await store.write({ kind: 'submit', tasks: [task] })).toMatchObject([{ accepted: true }])
  await store.close()
  own.searchParams.delete('sslcert')
  own.searchParams.delete('sslkey')
  expect(await refusal(own.href)).toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/requires a valid client certificate.*correct the URL/),
  })
})

async function refusal(url: string): Promise<unknown> {
  try {
    await (await openStore(url, { thread: false })).close()
    return undefined
  } catch (error) {
    return error
  }
}

test('a server that is not to be trusted is refused, and the error says what to do', async () => {
  const { url, file } = await newScene(['db.example'])
  const sslrootcert = file('ca.crt', trusted.own.cert)
  const cases: readonly (readonly [Readonly<Record<string, string>>, code: string, said: RegExp])[] = [
    [
      { sslmode: 'verify-full', sslrootcert: file('other.crt', new Authority('other').own.cert) },
      'store_unavailable',
      /is not trusted.*sslrootcert/,
    ],
    [{ sslmode: 'verify-full' }, 'store_unavailable', /is not trusted.*sslrootcert/],
    [
      { sslmode: 'verify-full', sslrootcert },
      'store_unavailable',
      /IP: 127\.0\.0\.1.*is not among.*a host that the certificate names/,
    ],
    [
      { sslmode: 'require', sslrootcert },
      'store_unavailable',
      /IP: 127\.0\.0\.1.*is not among.*a host that the certificate names/,
    ],
    [{ sslmode: 'disable' }, 'store_unavailable', /no encryption.*sslmode=verify-full/],
    [{}, 'store_unavailable', /no encryption.*sslmode=verify-full/],
    [
      { sslmode: 'verify-full', sslrootcert: '/no/such.crt' },
      'invalid_argument',
      /\/no\/such\.crt.*cannot be read/,
    ],
    [{ sslmode: 'verify' }, 'invalid_argument', /sslmode is one of disable, .*verify-full/],
  ]
  const refusals = []
  for (const [query] of cases) refusals.push(await refusal(url(query)))
  expect(refusals).toMatchObject(
    cases.map(([, code, said]) => ({ code, message: expect.stringMatching(said) as string })),
  )
})

test('a server without TLS is refused where the URL asks for it, and the error says what to do', async () => {
  const { url } = await sharedServer()
  expect(await refusal(withQuery(url, { sslmode: 'require' }))).toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/does not support SSL.*ssl = on.*sslmode=disable/) as string,
  })
})

test('application_name and options of the URL reach every connection', async () => {
  const server = await sharedServer()
  const url = withQuery(server.newStore(), {
    application_name: 'billing',
    options: '-c statement_timeout=54321 -c search_path=elsewhere',
  })
  const store = await openStore(url, { thread: false })
  await store.read({ kind: 'stats' })
  const client = await server.connect(url)
  const { rows } = await client.query(
    "SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'billing %' ORDER BY 1",
  )
  expect(rows).toEqual(
    ['commit', 'listen', 'read'].map((purpose) => ({ application_name: `billing ${purpose}` })),
  )
  await client.end()
  await store.close()
  expect(await verifyStore(url)).toMatchObject({ ok: true })
})
