import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hashToken } from '@ku0/agent-runtime-server'
import type { Browser } from 'playwright-core'
import { expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { violationsOn } from './axe.ts'
import { openPage } from './browser.ts'
import { fill, open } from './scene.ts'

/** Tokens, errors, a server that goes away, and very many tasks. */
export function testTrouble(browser: () => Browser): void {
  test('a server with tokens is asked with one, which is gone with its tab', async () => {
    const token = randomBytes(32).toString('base64url')
    const reader = randomBytes(32).toString('base64url')
    const scene = await open({
      tokens: [
        { name: 'all', hash: hashToken(token), scopes: ['admin'] },
        { name: 'reader', hash: hashToken(reader), scopes: ['read'] },
      ],
    })
    await fill(scene.runtime)
    const { page } = await openPage(browser(), scene.url)
    await page.goto(`${scene.url}/tasks/listen-1`)
    const field = page.getByLabel('Token')
    await field.waitFor()
    expect(await violationsOn(page)).toEqual([])
    await field.fill('wrong')
    await page.getByRole('button', { name: 'Go on' }).click()
    await field.waitFor()
    await field.fill(reader)
    await page.getByRole('button', { name: 'Go on' }).click()
    // The address is still the one that was asked for.
    await page.getByRole('heading', { name: 'listen' }).waitFor()

    // A token that only reads is offered nothing that it may not do.
    await page.getByText('Only to look at').waitFor()
    await page.getByRole('button', { name: 'Copy id' }).waitFor()
    expect(await page.getByRole('button', { name: 'Cancel', exact: true }).count()).toBe(0)
    await page.goto(`${scene.url}/approvals`)
    await page.getByText('Your token may look at requests').waitFor()

    await page.getByRole('button', { name: 'Forget the token' }).click()
    await field.waitFor()
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain(reader)
    await page.context().close()
    await scene.close()
  })

  test('where the drawing of a chart cannot be had, its numbers are shown, and so is the rest of the page', async () => {
    const scene = await open()
    await fill(scene.runtime)
    const { page } = await openPage(browser(), scene.url)
    await page.route('**/plot-*.js', (route) => route.abort())
    await page.goto(scene.url)
    await page.getByText('The drawing could not be loaded').first().waitFor()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.context().close()
    await scene.close()
  })

  test('behind a proxy that signs people in, the console asks for no token, follows streams, and other sites are refused', async () => {
    const token = randomBytes(32).toString('base64url')
    const scene = await open({
      tokens: [{ name: 'operators', hash: hashToken(token), scopes: ['read', 'operate'] }],
    })
    await fill(scene.runtime)
    // As in docs/reverse-proxy.md: what the browser sent as a token or a cookie is replaced, all else passes.
    const proxy = createServer((asked, answer) => {
      const { cookie, authorization: _, ...headers } = asked.headers
      if (cookie !== 'signed-in=yes') {
        answer.writeHead(200, { 'set-cookie': 'signed-in=yes; Path=/', 'content-type': 'text/html' })
        answer.end('<script>location.reload()</script>')
        return
      }
      const onward = request(
        {
          port: scene.server.port,
          method: asked.method,
          path: asked.url,
          headers: { ...headers, authorization: `Bearer ${token}` },
        },
        (given) => {
          answer.writeHead(given.statusCode ?? 502, given.headers)
          given.pipe(answer)
        },
      )
      onward.on('error', () => answer.destroy())
      answer.on('close', () => onward.destroy())
      asked.pipe(onward)
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const { page, faults } = await openPage(browser(), url)
    await page.goto(url)
    await page.getByText('What needs you').waitFor()
    await scene.runtime.submit('tell', 10, { taskId: 'behind' })
    await page.goto(`${url}/tasks/behind?show=output`)
    await page.getByText('word 2 ').waitFor()
    await page.getByText('Follows live', { exact: true }).waitFor()
    await scene.runtime.signal('behind', 'go')
    await page.getByText('The task has ended').waitFor()
    expect(await page.getByLabel('Token').count()).toBe(0)
    await page.goto(`${url}/tasks/listen-1`)
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the task' }).click()
    await page.getByText('The task was canceled').first().waitFor()
    expect(faults).toEqual([])
    // The proxy's cookie comes with requests of other sites, too: the server refuses these.
    for (const [name, value] of [
      ['origin', 'https://evil.example'],
      ['sec-fetch-site', 'cross-site'],
    ] as const) {
      const headers = { cookie: 'signed-in=yes', 'content-type': 'application/json', [name]: value }
      const refused = await fetch(`${url}/api/v1/tasks/spend-1/cancel`, {
        method: 'POST',
        headers,
        body: '{}',
      })
      expect([name, refused.status]).toEqual([name, 403])
    }
    await page.context().close()
    proxy.closeAllConnections()
    proxy.close()
    await scene.close()
  })

  test('a request without an answer is reported, and tried again', async () => {
    const scene = await open()
    await fill(scene.runtime)
    const { page } = await openPage(browser(), scene.url)
    await page.route('**/api/v1/schedules', (route) => route.abort())
    await page.goto(`${scene.url}/schedules`)
    await page.getByText('Could not get the schedules.').waitFor()
    await page.getByText('The server does not answer.').waitFor()
    expect(await violationsOn(page)).toEqual([])
    await page.unroute('**/api/v1/schedules')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('nightly report').first().waitFor()

    await page.route('**/api/v1/queue', (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          type: 'about:blank',
          title: 'Busy',
          status: 503,
          code: 'store_busy',
          detail: 'the disk is full',
          remedy: 'free some space',
        }),
      }),
    )
    await page.goto(`${scene.url}/queue`)
    await page.getByText('The disk is full.').waitFor()
    await page.getByText('Free some space.').waitFor()
    await page.context().close()
    await scene.close()
  })

  test('the queue names the clients that have too few credits, and leads to their tasks', async () => {
    const scene = await open({ ledger: true })
    const { credits } = scene.runtime
    await credits.purchase('ada', 2)
    await credits.purchase('bob', 9)
    await scene.runtime.submit('greet', 'Ada', { client: 'ada', cost: 5, taskId: 'unpaid' })
    await scene.runtime.submit('greet', 'Bob', { client: 'bob', cost: 5 })
    const { page } = await openPage(browser(), scene.url)
    await page.goto(`${scene.url}/queue`)
    const table = page.getByRole('table', { name: 'Clients without enough credits' })
    const row = table.getByRole('row', { name: /ada/ })
    await row.waitFor()
    expect((await row.innerText()).split(/\s+/)).toEqual(['ada', '1', '2', '5', '3'])
    expect(await table.getByRole('row').count()).toBe(2)
    expect(await violationsOn(page)).toEqual([])
    await row.getByRole('link').click()
    await page.getByTitle('unpaid', { exact: true }).waitFor()
    await page.context().close()
    await scene.close()
  })

  test('a page comes back by itself when the server does', async () => {
    const first = await open()
    const { port } = first.server
    const { page } = await openPage(browser(), first.url)
    await page.goto(`${first.url}/workers`)
    await page.getByText('idle').waitFor()
    await first.close()
    await page.getByText('The server does not answer.').first().waitFor()
    const second = await open({ port })
    await page.getByText('The server does not answer.').first().waitFor({ state: 'detached' })
    await page.getByText('idle').waitFor()
    await page.context().close()
    await second.close()
  })

  test('only visible rows of very many tasks are drawn', async () => {
    // Far more than anybody scrolls through; each night as many as a store keeps.
    const count = draws(20_000, 20_000, 100_000)
    const scene = await open({ queue: 200_000 })
    for (let batch = 0; batch < count / 5_000; batch += 1)
      await scene.runtime.submitMany(
        Array.from({ length: 5_000 }, (_, at) => ({
          task: 'greet',
          input: `visitor ${batch * 5_000 + at}`,
          options: { delayMs: 3_600_000 },
        })),
      )
    const { page, faults } = await openPage(browser(), scene.url)
    await page.goto(`${scene.url}/tasks`)
    await page.getByText(`${count.toLocaleString('en')} tasks`).waitFor()
    for (let turn = 0; turn < 20; turn += 1) {
      await page.mouse.wheel(0, 3_000)
      await page.evaluate('new Promise(requestAnimationFrame)')
    }
    await expect.poll(() => page.evaluate('scrollY')).toBeGreaterThan(20_000)
    const rows = page.getByRole('row')
    expect(await rows.count()).toBeLessThan(80)
    expect(await rows.count()).toBeGreaterThan(20)
    await page.getByText('the list stands still while you are further down').waitFor()
    expect(await violationsOn(page)).toEqual([])
    expect(faults).toEqual([])
    await page.context().close()
    await scene.close()
  })
}
