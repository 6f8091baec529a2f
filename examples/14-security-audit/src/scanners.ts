// The three scanners. Each probe is a step: a scanner that starts again repeats none that had an answer.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import { type Finding, review, Scan } from './findings.ts'

const patienceMs = 5_000

/** Knocks at each port, and reads what the service says by itself and to a greeting. */
export const network = defineTask(
  { type: 'network', input: z.array(z.number()).readonly(), output: Scan },
  async (ctx, ports) => {
    const found: Finding[] = []
    for (const [at, port] of ports.entries()) {
      const where = `port ${at + 1} of ${ports.length}`
      const said = await ctx.step(where, () => knock(port))
      if (said.includes('+PONG'))
        found.push({
          title: 'a service that asks for no password',
          where,
          severity: 'high',
          confidence: 0.95,
        })
      if (/^\d{3} .*\d+\.\d+/.test(said))
        found.push({ title: 'a banner that names a version', where, severity: 'low', confidence: 0.9 })
    }
    return review(ctx, found, ports.length)
  },
)

/** Asks a web server for what it should not give. */
export const web = defineTask({ type: 'web', input: z.string(), output: Scan }, async (ctx, site) => {
  const found: Finding[] = []
  let probes = 0
  const ask = (path: string, headers: Record<string, string> = {}) => {
    probes += 1
    return ctx.step(`GET ${path}`, () => answerOf(`${site}${path}`, headers))
  }
  const add = (title: string, where: string, severity: Finding['severity'], confidence = 0.9) =>
    void found.push({ title, where, severity, confidence })

  const home = await ask('/')
  if (/\d/.test(home.headers['server'] ?? '')) add('a header that names a version', '/', 'low')
  const missing = ['content-security-policy', 'x-content-type-options'].filter(
    (name) => !(name in home.headers),
  )
  if (missing.length > 0) add(`missing headers: ${missing.join(', ')}`, '/', 'medium')
  for (const cookie of home.cookies.filter((it) => !/httponly/i.test(it))) {
    const [name = ''] = cookie.split('=')
    // Only a cookie that logs somebody in is worth stealing, and its name is all that can be seen.
    add(`a cookie that scripts can read: ${name}`, '/', 'medium', /session|token/.test(name) ? 0.9 : 0.5)
  }
  for (const path of ['/search', '/echo']) {
    const { body, headers } = await ask(`${path}?q=${encodeURIComponent('<b>bold</b>')}`)
    if (!body.includes('<b>bold</b>')) continue
    const isPage = headers['content-type']?.startsWith('text/html') ?? false
    add('input that comes back as code', path, 'high', isPage ? 0.95 : 0.4)
  }
  const outside = await ask('/download?file=../app.env')
  if (outside.body.includes('PASSWORD')) add('files outside of the public folder', '/download', 'high', 0.95)
  const debug = await ask('/debug')
  if (debug.status === 200) add('a page for debugging', '/debug', 'high')
  const files = await ask('/files/')
  if (files.body.includes('Index of')) add('a list of all files', '/files/', 'medium')
  const admin = await ask('/admin', {
    authorization: `Basic ${Buffer.from('admin:admin').toString('base64')}`,
  })
  if (admin.status === 200) add('a password that everyone knows', '/admin', 'high', 0.95)
  return review(ctx, found, probes)
})

/** Reads the files of the server. */
export const config = defineTask({ type: 'config', input: z.string(), output: Scan }, async (ctx, folder) => {
  const names = await ctx.step('list', () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(folder, name)).isFile())
      .toSorted(),
  )
  const found: Finding[] = []
  for (const name of names) found.push(...(await ctx.step(`read ${name}`, () => findingsIn(folder, name))))
  return review(ctx, found, names.length)
})

function findingsIn(folder: string, name: string): Finding[] {
  const path = join(folder, name)
  const text = readFileSync(path, 'utf8')
  const found: Finding[] = []
  const add = (title: string, severity: Finding['severity'], confidence = 0.9) =>
    void found.push({ title: `${title}: ${name}`, where: name, severity, confidence })
  // A sample has a password to be replaced, as a rule.
  if (/PASSWORD=\S/.test(text)) add('a secret in a file', 'high', name.includes('sample') ? 0.4 : 0.9)
  if (/\|\s*sh\b/.test(text)) add('a script from the network that is run unread', 'high')
  if (name.endsWith('.key') && (statSync(path).mode & 0o077) !== 0)
    add('a key that everyone can read', 'high')
  if (name.endsWith('.json')) {
    const settings = JSON.parse(text) as Record<string, unknown>
    if (settings['debug'] === true) add('debugging is on', 'medium')
    if (settings['tls'] === false) add('no encryption', 'high')
    if (settings['cors'] === '*') add('every origin is allowed', 'medium')
  }
  return found
}

/** The words of a service, until it has answered a greeting. Throws if it hangs up without a word. */
function knock(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'))
    socket.setTimeout(patienceMs, () => socket.destroy(new Error('the service says nothing')))
    socket.on('data', (part) => {
      said += part.toString()
      // An answer to the greeting begins so; a banner does not.
      if (/^[+-]|^530 /m.test(said)) socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => (said === '' ? reject(new Error('the service hung up')) : resolve(said)))
  })
}

async function answerOf(url: string, headers: Record<string, string>) {
  const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(patienceMs) })
  const { status } = response
  const body = await response.text()
  return {
    status,
    headers: Object.fromEntries(response.headers),
    cookies: response.headers.getSetCookie(),
    body,
  }
}
