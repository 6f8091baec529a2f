import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hashToken } from '@ku0/agent-runtime-server'
import type { Browser } from 'playwright-core'
import { expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { violationsOn } from './axe.ts'
import { follow, openPage } from './browser.ts'
import { open } from './scene.ts'

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
    await scene.runtime.submit('listen', null, { taskId: 'listen-1' })
    await scene.runtime.submit('ask', { text: 'May I?' })
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
    await scene.runtime.submit('greet', 'Ada')
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
    await scene.runtime.submit('listen', null, { taskId: 'listen-1' })
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
      const refused = await fetch(`${url}/api/v1/tasks/behind/cancel`, {
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
    await scene.runtime.schedules.put('nightly report', { everyMs: 3_600_000 }, 'greet', 'night')
    const { page } = await openPage(browser(), scene.url)
    await page.route('**/api/v1/schedules', (route) => route.abort())
    await page.goto(`${scene.url}/schedules`)
    await page.getByText('Could not get the schedules.').waitFor()
    await page.getByText('The server does not answer.').waitFor()
    expect(await violationsOn(page)).toEqual([])
    // A page that stands still does not ask again by itself.
    await page.getByRole('button', { name: 'Live' }).click()
    await page.getByRole('button', { name: 'Paused' }).waitFor()
    const again = page.getByRole('button', { name: 'Try again' })
    await again.waitFor()
    await page.unroute('**/api/v1/schedules')
    await again.click()
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

    // A page that asks again by itself says meanwhile what happened.
    const told: number[] = []
    await page.route(/\/api\/v1\/tasks\?.*values/, async (route) => {
      told.push(await page.getByText('Could not get the tasks.').count())
      await route.abort()
    })
    await page.goto(`${scene.url}/tasks`)
    await page.getByText('Could not get the tasks.').waitFor()
    const first = told.length
    await expect.poll(() => told.length, { timeout: 50_000 }).toBeGreaterThan(first + 3)
    expect(told.slice(first)).not.toContain(0)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.context().close()
    await scene.close()
  })

  test('what needs somebody is not called nothing while it is not known', async () => {
    const scene = await open()
    await scene.runtime.result(await scene.runtime.submit('greet', 'Ada'))
    const { page } = await openPage(browser(), scene.url)
    const held = Promise.withResolvers<void>()
    await page.route('**/api/v1/approvals?*', async (route) => {
      await held.promise
      await route.fulfill(refused)
    })
    await page.goto(scene.url)
    const needs = page.getByRole('region', { name: 'What needs you' })
    await needs.getByText('Looking for it').waitFor()
    held.resolve()
    await needs.getByText('Could not get all that needs you. It cannot.').waitFor()
    expect(await needs.getByText('Nothing').count()).toBe(0)
    expect(await violationsOn(page)).toEqual([])
    await page.unroute('**/api/v1/approvals?*')
    await needs.getByRole('button', { name: 'Try again' }).click()
    await needs.getByText('Nothing: no approval').waitFor()
    await page.context().close()
    await scene.close()
  })

  test('an action that fails says why where it was asked for, and is tried again from there', async () => {
    const scene = await open()
    const { runtime } = scene
    await runtime.submit('listen', null, { taskId: 'listen-1' })
    await runtime.schedules.put('nightly report', { everyMs: 3_600_000 }, 'greet', 'night')
    const { page } = await openPage(browser(), scene.url)
    const dialog = page.getByRole('dialog')
    await page.goto(`${scene.url}/tasks/listen-1`)
    await page.route('**/listen-1/cancel', (route) => route.fulfill(refused))
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await dialog.getByRole('button', { name: 'Cancel the task' }).click()
    await dialog.getByText('It cannot.').waitFor()
    expect(await violationsOn(page)).toEqual([])
    // An answer that is lost says nothing of what was done.
    await page.unroute('**/listen-1/cancel')
    await page.route('**/listen-1/cancel', (route) => route.abort())
    await dialog.getByRole('button', { name: 'Try again' }).click()
    await dialog.getByText('Whether it was done is not known').waitFor()
    await page.unroute('**/listen-1/cancel')
    await dialog.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('The task was canceled').first().waitFor()
    await dialog.waitFor({ state: 'detached' })
    expect((await runtime.status('listen-1'))?.state).toBe('canceled')

    // Without a question the words that pass have the button.
    await page.goto(`${scene.url}/schedules`)
    await page.route('**/trigger', (route) => route.fulfill(refused))
    await page.getByRole('button', { name: 'Run now nightly report' }).click()
    const said = page.getByRole('status').filter({ hasText: 'It cannot.' })
    await said.waitFor()
    expect(await violationsOn(page)).toEqual([])
    await page.unroute('**/trigger')
    await said.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('A run of nightly report was submitted').waitFor()
    await said.waitFor({ state: 'detached' })
    await page.context().close()
    await scene.close()
  })

  test('a link leads to one row of a list, which is marked and in sight', async () => {
    const scene = await open()
    const { schedules } = scene.runtime
    const hour = { everyMs: 3_600_000 }
    const odd = 'acme: a/b@c=d&e+f#g?h, 100%'
    for (let at = 0; at < 40; at += 1) await schedules.put(`hourly ${at}`, hour, 'greet', 'hour')
    await schedules.put('nightly report', hour, 'greet', 'night')
    const { taskId } = await schedules.trigger('nightly report')
    const { page, faults } = await openPage(browser(), scene.url)
    const marked = page.locator('tr[aria-current=true]')
    await page.goto(`${scene.url}/tasks/${taskId}`)
    await page.getByRole('link', { name: 'nightly report' }).click()
    await marked.getByRole('link', { name: 'nightly report' }).waitFor()
    const isSeen = () =>
      marked.evaluate((row) => {
        const { top, bottom } = row.getBoundingClientRect()
        return top >= 0 && bottom <= row.ownerDocument.documentElement.clientHeight
      })
    await expect.poll(isSeen).toBe(true)
    // Its address can be sent.
    const url = page.url()
    await page.goto('about:blank')
    await page.goto(url)
    await expect.poll(isSeen).toBe(true)
    expect(await violationsOn(page)).toEqual([])
    await page.getByRole('link', { name: 'hourly 3', exact: true }).click()
    await marked.getByRole('link', { name: 'hourly 3', exact: true }).waitFor()
    expect(await marked.count()).toBe(1)
    expect(decodeURIComponent(page.url())).toContain('#row-hourly 3')
    // A name may have what means something in an address.
    await schedules.put(odd, hour, 'greet', 'odd')
    await page.goto(`${scene.url}/tasks/${(await schedules.trigger(odd)).taskId}`)
    await page.getByRole('link', { name: odd }).click()
    await marked.getByRole('link', { name: odd }).waitFor()
    expect(faults).toEqual([])
    await page.context().close()
    await scene.close()
  })

  test('a comparison has what both tasks cost and how both were judged, whoever was', async () => {
    const scene = await open()
    const { runtime } = scene
    await runtime.result(await runtime.submit('greet', 'Ada', { taskId: 'first' }))
    await runtime.fork('first', { taskId: 'second', edits: { write: 'Good day' } })
    await runtime.result('second')
    const { page, faults } = await openPage(browser(), scene.url)
    const cells = (name: RegExp) =>
      page
        .getByRole('table', { name: 'Both tasks' })
        .getByRole('row', { name })
        .getByRole('cell')
        .allInnerTexts()
    await page.goto(`${scene.url}/tasks/second?show=compare`)
    await page.getByText('not judged').first().waitFor()
    expect(await cells(/^Score/)).toEqual(['Score', 'not judged', 'not judged'])
    expect(await cells(/^Cost/)).toEqual(['Cost', 'nothing charged', 'nothing charged'])
    const judge = (agent: string, quality: number, task: string) =>
      runtime.evaluations.record(
        agent,
        { quality, adherence: quality, speed: quality, cost: quality, errors: quality, revisions: quality },
        { taskId: task },
      )
    await judge('greet', 0.5, 'first')
    await judge('writer', 0.9, 'second')
    await page.reload()
    await page.getByText('as writer').waitFor()
    expect(await cells(/^Score/)).toEqual(['Score', '0.5', '0.9, as writer'])
    expect(await violationsOn(page)).toEqual([])
    // Until the scores of another fork are there, those of the one before are not shown for it.
    await runtime.fork('first', { taskId: 'third', edits: { write: 'Good night' } })
    await runtime.result('third')
    await judge('greet', 0.7, 'third')
    const asked = Promise.withResolvers<void>()
    await page.route('**/api/v1/agents/greet/**', async (route) => {
      await asked.promise
      await route.continue()
    })
    await follow(page, scene.url, '/tasks/third?show=compare')
    await expect.poll(() => cells(/^Score/)).toEqual(['Score', '…', '…'])
    asked.resolve()
    await expect.poll(() => cells(/^Score/)).toEqual(['Score', '0.5', '0.7'])
    expect(faults).toEqual([])
    await page.context().close()
    await scene.close()
  })

  test('lists of more than a page go on, and a link finds a request that stands further down', async () => {
    const scene = await open({ capacity: 105 })
    const { runtime } = scene
    const many = (task: string, count: number, input: (at: number) => unknown) =>
      Array.from({ length: count }, (_, at) => ({
        task,
        input: input(at),
        options: { taskId: `${task}-${at}` },
      }))
    await runtime.submitMany(many('ask', 103, (at) => ({ text: `May visitor ${at} come in?` })))
    await settled(async () => (await runtime.stats()).waiting === 103)
    await runtime.submitMany(many('hold', 105, () => null))
    await settled(async () => (await runtime.stats()).running === 105)
    for (let at = 0; at < 101; at += 1) await runtime.clients.set(`client-${at}`, { credits: at })
    const { page, faults } = await openPage(browser(), scene.url)
    const more = (what: string) => page.getByRole('button', { name: `Show more ${what}` })

    await page.goto(`${scene.url}/workers`)
    const leases = page.getByRole('table', { name: 'Live leases' }).getByRole('row')
    await page.getByText('100 of 105').waitFor()
    expect(await leases.count()).toBe(101)
    await more('leases').click()
    await expect.poll(() => leases.count()).toBe(106)
    await more('leases').waitFor({ state: 'detached' })

    await page.goto(`${scene.url}/limits`)
    const clients = page.getByRole('table', { name: 'Clients' }).getByRole('row')
    await more('clients').click()
    await expect.poll(() => clients.count()).toBe(102)
    await more('clients').waitFor({ state: 'detached' })
    // The button is gone, and a screen reader is told why.
    const all = page.getByRole('status').getByText('These are all clients.')
    await expect.poll(() => all.evaluate((it) => it === document.activeElement)).toBe(true)

    await page.goto(scene.url)
    await page.getByText('100+ approvals wait for a verdict').waitFor()
    await page.goto(`${scene.url}/approvals?request=ask-102`)
    await page.getByText('May visitor 102 come in?').waitFor()
    const requests = page.getByRole('list', { name: 'Requests' }).locator('[data-row]')
    expect(await requests.count()).toBe(101)
    await more('requests').click()
    await expect.poll(() => requests.count()).toBe(103)
    await page.getByRole('button', { name: 'Approve' }).click()
    await expect.poll(() => requests.count()).toBe(102)
    // Nobody is shown another request in place of one that was answered.
    await page.goto(`${scene.url}/approvals?request=ask-102`)
    await page.getByText('This request is not open').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    expect(faults).toEqual([])
    await page.context().close()
    await scene.close()
  })

  test('a bulk action that fails is tried again from its dialog', async () => {
    const scene = await open()
    await scene.runtime.submitMany(
      Array.from({ length: 3 }, (_, at) => ({
        task: 'greet',
        input: `bulk ${at}`,
        options: { delayMs: 3_600_000, labels: { batch: 'bulk' } },
      })),
    )
    const { page } = await openPage(browser(), scene.url)
    const dialog = page.getByRole('dialog')
    const press = (name: string) => dialog.getByRole('button', { name, exact: true }).click()
    const fails = (on: string, status: number) =>
      page.route(on, (route) =>
        route.fulfill({
          status,
          contentType: 'application/problem+json',
          body: JSON.stringify({ type: 'about:blank', title: 'No', status, code: 'no', detail: 'it cannot' }),
        }),
      )
    await page.goto(`${scene.url}/tasks?label=batch=bulk`)
    await fails('**/api/v1/tasks:bulk', 503)
    await page.getByRole('button', { name: 'Cancel all of these…' }).click()
    await dialog.getByText('It cannot.').waitFor()
    expect(await violationsOn(page)).toEqual([])
    await page.unroute('**/api/v1/tasks:bulk')
    await press('Try again')
    await dialog.getByRole('button', { name: 'Cancel 3 tasks' }).waitFor()

    // The start gets no answer; then the action was stopped half way.
    await fails('**/api/v1/tasks:bulk/*', 503)
    await press('Cancel 3 tasks')
    await dialog.getByText('It cannot.').waitFor()
    expect((await scene.runtime.stats()).totals.canceled).toBe(0)
    await page.unroute('**/api/v1/tasks:bulk/*')
    const token = randomUUID()
    const part = {
      state: 'stopped',
      count: 3,
      done: 1,
      changed: 1,
      before: 0,
      rejected: 0,
      problem: 'the queue is full',
    }
    await page.route('**/api/v1/tasks:bulk/*', (route) => route.fulfill({ json: { token, ...part } }))
    await press('Try again')
    await dialog.getByText('1 of 3 looked at, 1 canceled. It was stopped.').waitFor()
    expect(await violationsOn(page)).toEqual([])
    await page.unroute('**/api/v1/tasks:bulk/*')

    // It goes on with a count of what is left. A server that was started anew knows no token.
    await press('Go on')
    await dialog.getByRole('button', { name: 'Cancel 3 tasks' }).waitFor()
    // An answer to the action before comes late: of two stops the first.
    const late = Promise.withResolvers<void>()
    let stops = 0
    await page.route('**/api/v1/tasks:bulk/*', async (route) => {
      const isStop = route.request().method() === 'DELETE'
      if (isStop && (stops += 1) === 1) await late.promise
      await route.fulfill({ json: { token, ...part, state: isStop ? 'stopped' : 'running' } })
    })
    await press('Cancel 3 tasks')
    await press('Stop')
    await press('Stop')
    await press('Go on')
    await dialog.getByRole('button', { name: 'Cancel 3 tasks' }).waitFor()
    const answered = page.waitForEvent('requestfinished', (asked) => asked.method() === 'DELETE')
    late.resolve()
    await answered
    await page.evaluate('new Promise(requestAnimationFrame)')
    expect(await dialog.getByRole('button', { name: 'Cancel 3 tasks' }).count()).toBe(1)
    await page.unroute('**/api/v1/tasks:bulk/*')
    await page.route('**/api/v1/tasks:bulk/*', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ json: { token, ...part, state: 'running' } })
        : route.continue(),
    )
    await press('Cancel 3 tasks')
    await dialog.getByText(`There is no bulk action ${token}.`).waitFor()
    await page.unroute('**/api/v1/tasks:bulk/*')
    await press('Try again')
    await press('Cancel 3 tasks')
    await dialog.getByText('3 of 3 looked at, 3 canceled. Done.').waitFor()
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

  test('whoever has asked for all steps of a task sees those that it records afterwards', async () => {
    const scene = await open({ limits: { maxTaskRows: 2 } })
    await scene.runtime.submit('climb', 5, { taskId: 'climbs' })
    await settled(async () => (await scene.runtime.status('climbs'))?.state === 'waiting')
    const { page, faults } = await openPage(browser(), scene.url)
    await page.goto(`${scene.url}/tasks/climbs?show=steps`)
    await page.getByText('2 of up to 3 are shown').waitFor()
    await page.getByRole('button', { name: 'Show more steps' }).click()
    await page.getByText('These are all steps.').waitFor()
    expect(await page.getByText('step 3', { exact: true }).count()).toBe(1)
    await scene.runtime.signal('climbs', 'go')
    await page.getByText('step 5', { exact: true }).waitFor()
    expect(await page.getByText('step 3', { exact: true }).count()).toBe(1)
    expect(faults).toEqual([])
    await page.context().close()
    await scene.close()
  })

  test('only visible rows of very many tasks are drawn', async () => {
    // Far more than anybody scrolls through; each night as many as a store keeps.
    const count = draws(5_000, 5_000, 100_000)
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

/** A refusal in the words of the API. A page does not ask again by itself at once. */
const refused = {
  status: 400,
  contentType: 'application/problem+json',
  body: JSON.stringify({ type: 'about:blank', title: 'No', status: 400, code: 'no', detail: 'it cannot' }),
}

/** Waits for what a server without a browser brings about. */
async function settled(isSo: () => Promise<boolean>): Promise<void> {
  await expect.poll(isSo, { timeout: 50_000 }).toBe(true)
}
