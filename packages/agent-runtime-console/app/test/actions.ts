import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, afterEach, expect, test } from 'vitest'
import { violationsOn } from './axe.ts'
import { follow, openPage, openTab, type Opened } from './browser.ts'
import { after, before, reports } from './reports.ts'
import { fill, open, type Scene } from './scene.ts'

/**
 * Every action, against a server with tasks, in one tab, which goes from page to page as a link does: to load the pages takes most of the time. Quick tests give
 * the tab with its scene, do some actions, and do not look whether each state is accessible.
 */
export function testActions(
  browser: () => Browser,
  given?: () => { readonly scene: Scene; readonly opened: Opened },
): void {
  const isQuick = given !== undefined
  /** A test that only the long ones run. */
  const inLong: (title: string, run: () => Promise<void>) => void = isQuick ? () => undefined : test
  let scene: Scene
  let page: Page
  let faults: string[]
  beforeAll(async () => {
    if (isQuick) {
      scene = given().scene
      ;({ page, faults } = given().opened)
      return
    }
    scene = await open({ reports })
    await fill(scene.runtime)
    ;({ page, faults } = await openPage(browser(), scene.url, { timezoneId: 'Asia/Tokyo' }))
  })
  afterAll(async () => {
    if (isQuick) return
    await page.context().close()
    await scene.close()
  })
  afterEach(async () => {
    expect(faults.splice(0)).toEqual([])
    await page.evaluate('localStorage.clear()')
  })

  const goto = (path: string) => follow(page, scene.url, path)
  const lookAt = async (on: Page) => (isQuick ? [] : violationsOn(on))
  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).first().click()
  const inDialog = (name: string | RegExp) => page.getByRole('dialog').getByRole('button', { name }).click()
  const stateOf = async (taskId: string) => (await scene.runtime.status(taskId))?.state

  test('a task is canceled once somebody has said yes', async () => {
    await scene.runtime.submit('listen', null, { taskId: 'to-cancel' })
    await goto('/tasks/to-cancel')
    await press('Cancel')
    expect(await lookAt(page)).toEqual([])
    await inDialog('Keep as it is')
    expect(await stateOf('to-cancel')).not.toBe('canceled')
    // A keyboard goes on where it was.
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Cancel')
    await press('Cancel')
    await inDialog('Cancel the task')
    await page.getByText('The task was canceled').first().waitFor()
    expect(await stateOf('to-cancel')).toBe('canceled')
    // The page follows: what is over offers a retry.
    await page.getByRole('button', { name: 'Retry', exact: true }).waitFor()
    expect(await page.title()).toBe('listen to-cancel: canceled · agent runtime')
  })

  inLong('an answer that comes after somebody has gone to another page leaves them there', async () => {
    await goto('/tasks/charge-99')
    const held = Promise.withResolvers<void>()
    await page.route('**/api/v1/tasks/charge-99/retry', async (route) => {
      await held.promise
      await route.continue()
    })
    await press('Retry')
    await inDialog('Retry')
    await goto('/schedules')
    await page.getByText('nightly report').first().waitFor()
    held.resolve()
    await page.getByText('The task was submitted again').waitFor()
    expect(page.url()).toContain('/schedules')
    await page.unrouteAll({ behavior: 'wait' })
    await page.getByRole('status').getByRole('link').click()
    await page.getByText('the bank refused 99 EUR').first().waitFor()
  })

  inLong('times are shown in the zone of the browser or in UTC, as somebody chooses', async () => {
    const { events } = await scene.runtime.history('speak-1')
    const at = new Date(events[0]?.at ?? 0)
    const clock = (timeZone: string) =>
      at.toLocaleTimeString('en', { timeStyle: 'medium', hourCycle: 'h23', timeZone })
    await goto('/tasks/speak-1?show=events')
    const first = page.getByRole('tabpanel').locator('time').first()
    await first.waitFor()
    expect(await first.innerText()).toContain(clock('Asia/Tokyo'))
    expect(await first.getAttribute('title')).toMatch(/\.\d{3} GMT\+9$/)
    await page.getByLabel('Times').selectOption('UTC')
    await expect.poll(() => first.innerText()).toContain(clock('UTC'))
    await page.reload()
    await expect.poll(() => first.getAttribute('title')).toMatch(/\.\d{3} UTC$/)
    await page.getByLabel('Times').selectOption('local')
  })

  inLong('a value that is long is cut, and shown whole on demand', async () => {
    const name = 'long '.repeat(6_000)
    await scene.runtime.submit('greet', name, { taskId: 'long-1' })
    await scene.runtime.result('long-1')
    await goto('/tasks/long-1?show=result')
    const value = page.locator('pre[aria-label=Result]')
    await value.waitFor()
    const length = async () => (await value.textContent())?.length
    expect(await length()).toBe(20_001)
    await press('Show all 30 kB')
    await expect.poll(length).toBe('Hello, '.length + name.length)
  })

  inLong('a question goes when the page behind it does, also by the button Back', async () => {
    await scene.runtime.submit('listen', null, { taskId: 'asked-about' })
    await goto('/tasks/asked-about')
    await goto('/tasks/asked-about?show=events')
    await page.getByText('task.queued').first().waitFor()
    await press('Cancel')
    await page.getByRole('dialog').waitFor()
    // Under a development server React closes each dialog once and opens it again, before the event of the close comes.
    await page.evaluate(
      () =>
        new Promise<void>((resume) => {
          const dialog = document.querySelector('dialog')
          dialog?.addEventListener('close', () => void setTimeout(resume), { once: true })
          dialog?.close()
          dialog?.showModal()
        }),
    )
    expect(await page.getByRole('dialog').count()).toBe(1)
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached', timeout: 5_000 })
    expect(page.url()).not.toContain('show=')
    await scene.runtime.cancel('asked-about')
  })

  test('a failed task is retried as a new one, which is shown', async () => {
    await goto('/tasks/charge-12')
    await press('Retry')
    await inDialog('Retry')
    await page.getByText('The task was submitted again').first().waitFor()
    await expect.poll(() => page.url()).not.toContain('charge-12')
    await page.getByText('the bank refused 12 EUR').first().waitFor()
  })

  inLong(
    'the drawing of a pipeline follows it to its end, and the restarts of a supervisor are counted',
    async () => {
      await goto('/tasks/pipeline-1')
      await page.getByText('no room for page_discovered').waitFor()
      await page.locator('summary', { hasText: 'Events by type' }).click()
      expect(await lookAt(page)).toEqual([])
      const { stages } = await scene.runtime.pipeline('pipeline-1').status()
      await scene.runtime.signal(stages[1]?.tasks[0]?.taskId ?? '', 'go')
      await scene.runtime.result('pipeline-1')
      await page.getByText('13 of 13').first().waitFor()
      await page.getByText('completed · 2').waitFor()
      expect(await page.getByText('no room for').count()).toBe(0)
      await page.getByRole('link', { name: 'behavior', exact: true }).click()
      await expect.poll(() => page.url()).toContain(stages[1]?.tasks[0]?.taskId)

      await goto('/tasks/team-1')
      await page.getByRole('meter', { name: 'Restarts of crawlers within 1 min' }).waitFor()
      await page.getByRole('link', { name: 'slow.example', exact: true }).click()
      await page.getByText('crawl', { exact: true }).first().waitFor()
    },
  )

  inLong('a child of a supervisor is stopped, restarted and added, each after a question', async () => {
    const childOf = async (id: string) => {
      const { children } = await scene.runtime.supervisors.which('team-1')
      return children.find((child) => child.id === id)
    }
    const first = await childOf('listener')
    await goto('/tasks/team-1')
    await press('Stop listener')
    expect(await lookAt(page)).toEqual([])
    await inDialog('Keep as it is')
    expect((await childOf('listener'))?.state).not.toBe('canceled')
    await press('Stop listener')
    await inDialog('Stop the child')
    await page.getByText('listener was stopped').waitFor()
    expect((await childOf('listener'))?.state).toBe('canceled')

    await press('Restart listener')
    await inDialog('Start it again')
    await page.getByText('listener runs as the new task').waitFor()
    const second = await childOf('listener')
    expect(second?.taskId).not.toBe(first?.taskId)

    // One that runs is stopped first.
    await press('Restart listener')
    await inDialog('Stop it, and start it again')
    await expect.poll(async () => (await childOf('listener'))?.taskId).not.toBe(second?.taskId)
    expect(await stateOf(second?.taskId ?? '')).toBe('canceled')

    await press('Start a child… of team')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Its name among the children').fill('greeter')
    await dialog.getByLabel('Task type').fill('listen')
    await dialog.getByLabel('When it starts again').selectOption('permanent')
    await dialog.getByLabel(/Input/).fill('"a child"')
    await inDialog('Start')
    await page.getByText('greeter was started').waitFor()
    expect(await childOf('greeter')).toMatchObject({ type: 'listen', restart: 'permanent' })
    // The same name again is refused in words.
    await press('Start a child… of team')
    await page.getByRole('dialog').getByLabel('Its name among the children').fill('greeter')
    await page.getByRole('dialog').getByLabel('Task type').fill('greet')
    await inDialog('Start')
    await page
      .getByText(/greeter/, { exact: false })
      .getByText(/already|there is/i)
      .first()
      .waitFor()
    faults.splice(0, Infinity, ...faults.filter((fault) => !fault.includes('409')))
  })

  inLong('the nodes of a graph are drawn, and its children stand in a tree', async () => {
    await goto('/tasks/graph-1?show=children')
    const graph = page.getByRole('region', { name: 'Graph' })
    await graph.getByText('write the report').waitFor()
    await graph.getByRole('link', { name: 'check' }).waitFor()
    await graph.getByText('not started').waitFor()
    const parent = await scene.runtime.submit('research', { topic: 'trees' }, { taskId: 'research-tree' })
    while ((await scene.runtime.list({ parent: parent.taskId })).tasks.length < 2)
      await new Promise((resolve) => setTimeout(resolve, 20))
    await goto('/tasks/research-tree?show=children')
    await page
      .getByRole('button', { name: /^Children of/ })
      .first()
      .click()
    await page.getByText('It has spawned no task.').waitFor()
    expect(await lookAt(page)).toEqual([])
  })

  inLong('two reports of the gym are compared by path, and what got worse is marked', async () => {
    await goto('/gym')
    await page.getByLabel('A, before: a report of the server').selectOption('before.json')
    await page.getByText('All 3 scenarios passed').waitFor()
    await page.getByLabel('B, after: a report of the server').selectOption('after.json')
    await expect.poll(() => page.url()).toContain('/gym?a=before.json&b=after.json')
    await page.getByText('1 figure of 1 scenario got worse').waitFor()
    const drain = page.getByRole('region', { name: 'A queue is drained' })
    expect(await drain.getByRole('row').last().innerText()).toMatch(
      /worse\s+throughput\s+20 000 tasks\/s\s+9 000 tasks\/s\s+−11 000 \(−55 %\)/,
    )
    // What got worse stands first; what did not change stands nowhere, until somebody wants it.
    expect(await page.locator('h2.scenario').first().innerText()).toContain('A queue is drained')
    expect(await page.getByText('Ten thousand naps').count()).toBe(0)
    await page.getByLabel(/Show what did not change/).check()
    await page.getByText('Ten thousand naps').first().waitFor()
    await page.getByText('Hard to compare: different seeds: A 1; B 2').waitFor()
    expect(await lookAt(page)).toEqual([])
    await press('Swap A and B')
    await expect.poll(() => page.url()).toContain('/gym?a=after.json&b=before.json')
    await page.reload()
    await page.getByText('regressed').waitFor()
  })

  inLong('reports are dropped as files, and a file that is none says so', async () => {
    await goto('/gym')
    await page.getByText('Drop one or two').waitFor()
    const drop = (files: Readonly<Record<string, string>>) =>
      page.evaluate((texts) => {
        const data = new DataTransfer()
        for (const [name, text] of Object.entries(texts)) data.items.add(new File([text], name))
        const place = document.querySelector('.drop')
        place?.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data }))
      }, files)
    // The older run is A, in whichever order they are dropped.
    await drop({ 'mine.json': JSON.stringify(after), 'main.json': JSON.stringify(before) })
    await page.getByText('1 figure of 1 scenario got worse').waitFor()
    await page.getByText(/^A: main\.json/).waitFor()
    await drop({ 'package.json': '{"name":"x"}' })
    await page.getByText('package.json is no report of the gym').waitFor()
    await drop({ 'broken.json': '{' })
    await page.getByText('broken.json is not JSON').waitFor()
    await page.getByRole('button', { name: 'Close B, after' }).click()
    await page.getByText('All 3 scenarios passed').waitFor()
    await page.getByLabel('B, after: open a file').setInputFiles({
      name: 'mine.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(after)),
    })
    await page.getByText('1 figure of 1 scenario got worse').waitFor()
  })

  inLong('a worker is drained and undrained, and a lane is paused and resumed', async () => {
    const [worker] = await scene.runtime.workers()
    await goto('/workers')
    await press(`Drain ${worker?.workerId}`)
    await inDialog('Drain the worker')
    await press(`Undrain ${worker?.workerId}`)
    await expect.poll(async () => (await scene.runtime.workers())[0]?.state).not.toBe('draining')

    await goto('/queue')
    await press('Pause…')
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('button', { name: 'Pause' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Task types').fill('nothing')
    await dialog.getByLabel('batch').check()
    expect(await lookAt(page)).toEqual([])
    await inDialog('Pause')
    await page.getByText('No task of the lane batch is started').waitFor()
    expect((await scene.runtime.stats()).paused).toHaveLength(2)
    await press('Resume the lane batch')
    await press('Resume the task type nothing')
    await expect.poll(async () => (await scene.runtime.stats()).paused).toEqual([])
  })

  inLong('a schedule shows its next five times, and an agent its reputation over time', async () => {
    await goto('/schedules')
    await page
      .getByRole('row', { name: /nightly report/ })
      .getByText('next five')
      .click()
    await expect.poll(() => page.locator('.times li').count()).toBe(5)
    await goto('/agents')
    await page.getByRole('link', { name: 'greet' }).click()
    await expect.poll(() => page.url()).toContain('?agent=greet')
    await page.getByText('Reputation over time').waitFor()
    await page.getByText(/Its latest work differs from its earlier work/).waitFor()
    await page.getByRole('link', { name: 'research' }).first().waitFor()
    for (let at = 0; at < 21; at += 1) await scene.runtime.evaluations.record('often', { quality: 0.5 })
    await goto('/agents?agent=often')
    const judgements = page.getByRole('table', { name: 'Judgements of often' }).getByRole('row')
    await expect.poll(() => judgements.count()).toBe(21)
    expect(await lookAt(page)).toEqual([])
    await press('Show more judgements')
    await expect.poll(() => judgements.count()).toBe(22)
    expect(await page.getByRole('button', { name: 'Show more judgements' }).count()).toBe(0)
  })

  inLong('a text that is Markdown is shown with its marks, and nothing of it runs', async () => {
    const ask = {
      text: '# Title\n\n- one\n- **two**\n\n<img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](https://example.com/)',
    }
    await scene.runtime.submit('ask', ask, { taskId: 'ask-1' })
    for await (const { type } of scene.runtime.events('ask-1')) if (type === 'approval.requested') break
    await goto('/approvals?request=ask-1')
    const artifact = page.getByLabel('Artifact')
    await artifact.getByRole('heading', { name: 'Title' }).waitFor()
    expect(await artifact.getByRole('listitem').allInnerTexts()).toEqual(['one', 'two'])
    await artifact.getByText('<img src=x onerror=alert(1)> [a](javascript:alert(1))').waitFor()
    expect(await artifact.locator('img').count()).toBe(0)
    expect(await artifact.getByRole('link').count()).toBe(1)
    await scene.runtime.cancel('ask-1')
  })

  inLong('a signal reaches its task, and its value with it', async () => {
    await scene.runtime.submit('listen', null, { taskId: 'to-signal' })
    for await (const { type } of scene.runtime.events('to-signal')) if (type === 'task.waiting') break
    await goto('/tasks/to-signal')
    await press('Signal')
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.getByLabel('Name').inputValue()).toBe('go')
    await dialog.getByLabel(/Value/).fill('{ "by": ')
    await dialog.getByText('This is not JSON').waitFor()
    expect(await dialog.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    await dialog.getByLabel(/Value/).fill('{ "order": 3544790567247868102 }')
    await dialog.getByText('a number that is too long').waitFor()
    await dialog
      .getByLabel(/Value/)
      .fill('{ "by": "ann", "order": "3544790567247868102", "at": 0.12345678901234567 }')
    await dialog.getByText('a number that is too long').waitFor({ state: 'detached' })
    await dialog.getByLabel(/Value/).fill('{ "by": "ann" }')
    await inDialog('Send')
    expect(await scene.runtime.result('to-signal')).toEqual({ by: 'ann' })
    await page.getByText('completed').first().waitFor()
  })

  inLong('a fork takes another result of a step', async () => {
    const [done] = (await scene.runtime.list({ types: ['greet'], states: ['completed'], limit: 1 })).tasks
    await goto(`/tasks/${done?.taskId}`)
    await press('Fork')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('From the step').selectOption('write')
    await dialog.getByLabel('With another result of this step').check()
    await dialog.getByLabel('Its result, as JSON').fill('"Hello, world"')
    await inDialog('Fork')
    await page.getByText('The fork was submitted').waitFor()
    await page.getByRole('tab', { name: 'Result' }).click()
    await page.getByLabel('Result', { exact: true }).getByText('Hello, world').waitFor()
    await page.getByRole('tab', { name: 'Compare' }).click()
    await page.getByText('The first difference is the result of the step write.').waitFor()
    await page.getByText('another result').click()
    await page
      .getByLabel('Before', { exact: true })
      .getByText(/Hello, /)
      .waitFor()
    await page.getByLabel('This task', { exact: true }).getByText('Hello, world').waitFor()
    expect(await page.getByRole('link', { name: done?.taskId ?? '' }).count()).toBe(2)
  })

  inLong('a replay with the code of the server agrees', async () => {
    await goto('/tasks/speak-1')
    await press('Verify')
    await page.getByText("The replay with this server's code").waitFor()
  })

  test('output is followed as it comes', async () => {
    await scene.runtime.submit('tell', 60, { taskId: 'speaks' })
    await goto('/tasks/speaks?show=output')
    await page.getByText('word 2 ').waitFor()
    await page.getByText('Follows live', { exact: true }).waitFor()
    await scene.runtime.signal('speaks', 'go')
    await page.getByText('word 60 ').waitFor()
    await page.getByText('The task has ended').waitFor()
  })

  inLong('a task that runs says who holds it, and each lease when it began and how it ended', async () => {
    await scene.runtime.submit('hold', null, { taskId: 'held' })
    await goto('/tasks/held?show=leases')
    const leases = page.getByRole('list', { name: 'Leases' })
    await leases.getByText('Lease 1, attempt 1 · live').waitFor()
    const [lease] = await scene.runtime.leases('held')
    expect(await page.getByTitle(lease?.workerId ?? '', { exact: true }).count()).toBe(2)
    expect(await leases.getByText(lease?.leaseId ?? '').count()).toBe(1)
    // It holds while its heartbeats come.
    expect(await leases.locator('dt').allInnerTexts()).toEqual([
      'Held by',
      'Acquired',
      'Last heartbeat',
      'Expires',
      'Lease id',
    ])
    expect(await lookAt(page)).toEqual([])
    await scene.runtime.cancel('held')
    await leases.getByText(/^Lease 1, attempt 1 · (?!live)/).waitFor()
    await leases.getByText('Held for').waitFor()
  })

  inLong('the charts show a lane or a task type, which stands in the address', async () => {
    await goto('/')
    const asked = page.waitForRequest(/\/series\?.*type=greet/)
    await page.getByLabel('Lane').selectOption('batch')
    await page.getByLabel('Type').selectOption('greet')
    expect(new URL((await asked).url()).searchParams.get('lane')).toBe('batch')
    await page.getByLabel('The last').selectOption('hour')
    await expect
      .poll(() => page.url())
      .toMatch(/\/\?lane=batch&type=greet&last=1h$|\/\?last=1h&lane=batch&type=greet$/)
    await page.reload()
    const depth = page.getByRole('figure').filter({ hasText: 'Queued by lane' })
    await depth.getByText('batch').waitFor()
    expect(await depth.getByRole('listitem').count()).toBe(1)
    expect(await page.getByLabel('Type').inputValue()).toBe('greet')
    await page.getByText('The charts show a part of the tasks').waitFor()
    expect(await lookAt(page)).toEqual([])
    await page.getByLabel('Lane').selectOption('all')
    await page.getByLabel('Type').selectOption('all')
    await expect.poll(() => depth.getByRole('listitem').count()).toBe(3)
    expect(page.url()).toMatch(/\/\?last=1h$/)
  })

  inLong('the newest checkpoint is shown with its data, and each with its size', async () => {
    await goto('/tasks/research-1?show=checkpoints')
    await page.getByRole('tab', { name: /^Checkpoints \d/, selected: true }).waitFor()
    await page
      .getByLabel('Newest checkpoint', { exact: true })
      .getByText('who uses durable-execution: first')
      .waitFor()
    await page
      .getByText(/^\d+ bytes$/)
      .first()
      .waitFor()
    expect(await lookAt(page)).toEqual([])
  })

  inLong('a bar of the waterfall has an address, and shows its event and hash', async () => {
    await goto('/tasks/research-1')
    await page.getByRole('button', { name: /^step plan/ }).click()
    await page.getByRole('tab', { name: 'Selected' }).waitFor()
    await page.getByText('step.completed').first().waitFor()
    await page
      .getByText(/^[0-9a-f]{64}$/)
      .first()
      .waitFor()
    await page.reload()
    await page.getByRole('tab', { name: 'Selected', selected: true }).waitFor()
  })

  test('a request is rejected with feedback, and another is approved', async () => {
    await goto('/approvals?request=research-2')
    expect(await page.getByRole('button', { name: 'Reject' }).isDisabled()).toBe(true)
    const feedback = page.getByLabel('Feedback, which the task gets')
    await feedback.fill('too long')
    // Another time zone leaves what somebody types as it is.
    await page.getByLabel('Times').selectOption('UTC')
    const asked = page.getByRole('region', { name: 'Request publish' }).locator('time').first()
    await expect.poll(() => asked.getAttribute('title')).toMatch(/ UTC$/)
    expect(await feedback.inputValue()).toBe('too long')
    await page.getByLabel('Times').selectOption('local')
    await page.getByLabel('Your name, for the trail').fill('ann')
    await press('Reject')
    await page.getByText('publish was rejected').waitFor()
    const [entry] = await scene.runtime.approvals.trail('research-2')
    expect(entry).toMatchObject({ outcome: 'rejected', by: 'ann', feedback: 'too long' })

    await goto('/approvals?request=review-1')
    await page.getByText('maxTasks: 1_000').waitFor()
    const value = page.getByLabel('Value in JSON, which the task gets if you approve')
    await value.fill('applied with 900')
    await page.getByText('This is not JSON').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
    await value.fill('"applied with 900"')
    await press('Approve')
    await page.getByText('apply was approved').waitFor()
    expect(await scene.runtime.result('review-1')).toBe('applied with 900')
  })

  inLong('the filter stands in the address, and is read from it', async () => {
    await goto('/tasks')
    await page.getByRole('button', { name: 'failed', exact: true }).click()
    await expect.poll(() => page.url()).toContain('?states=failed')
    await page.getByLabel('Types').fill('charge-card')
    await expect.poll(() => page.url()).toContain('types=charge-card')
    await page.reload()
    await page.getByText('charge-99').waitFor()
    expect(await page.getByRole('row').count()).toBeLessThan(8)
    expect(await page.getByLabel('Types').inputValue()).toBe('charge-card')
    // What is cut in its column can be read whole, and types are offered.
    await page.getByTitle('the bank refused 99 EUR: card_declined').first().waitFor({ state: 'attached' })
    await page.locator('datalist option[value=greet]').waitFor({ state: 'attached' })
    await press('Save')
    await page.getByRole('dialog').getByLabel('Name').fill('cards')
    await inDialog('Save')
    await page.getByLabel('Saved').selectOption('cards')
    await press('Clear')
    await expect.poll(() => page.url()).not.toContain('?')
  })

  test('a bulk action counts, asks, and does what it says', async () => {
    await scene.runtime.submitMany(
      Array.from({ length: 30 }, (_, at) => ({
        task: 'greet',
        input: `bulk ${at}`,
        options: { delayMs: 3_600_000, labels: { batch: 'bulk' } },
      })),
    )
    await goto('/tasks?label=batch=bulk')
    await press('Cancel all of these…')
    await page.getByRole('dialog').getByText('30', { exact: true }).waitFor()
    await page.getByRole('dialog').getByText('batch=bulk').waitFor()
    expect(await lookAt(page)).toEqual([])
    await inDialog('Cancel 30 tasks')
    await page.getByText('30 of 30 looked at, 30 canceled. Done.').waitFor()
    const { tasks } = await scene.runtime.list({ states: ['canceled'], types: ['greet'] })
    expect(tasks).toHaveLength(30)
    await inDialog('Close')
  })

  inLong('a label whose value is missing selects nothing, and not everything', async () => {
    await goto('/tasks?label=team')
    await page.getByText('No task is like this').waitFor()
    await press('Cancel all of these…')
    await page.getByRole('dialog').getByText('selects 0 open tasks').waitFor()
    await inDialog('Keep as it is')
  })

  inLong('a filter that names nothing says so, selects nothing, and offers no action', async () => {
    for (const [search, problem] of [
      ['lanes=bulk', '“bulk” names no lane.'],
      ['label=,', '“,” names no label.'],
      ['states=failed,stuck', '“stuck” names no state.'],
    ] as const) {
      await goto(`/tasks?${search}`)
      await page.getByRole('alert').getByText(problem).waitFor()
      expect(await page.getByRole('row').count()).toBe(0)
      expect(await page.getByRole('button', { name: /all of these/ }).count()).toBe(0)
    }
    expect(await lookAt(page)).toEqual([])
    await goto('/tasks?types=listen&states=cancelled')
    await page.getByTitle('listen-2', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'canceled', pressed: true }).waitFor()
    expect(await page.getByTitle('listen-1', { exact: true }).count()).toBe(0)
    await goto('/tasks?lanes=bulk')
    await press('Clear the filter')
    await page.locator('[data-row]').first().waitFor()
  })

  inLong('what is said of one task or filter is not said of the next', async () => {
    const held = Promise.withResolvers<void>()
    await scene.runtime.submit('listen', null, { taskId: 'comes-late' })
    await page.route(/\/api\/v1\/tasks(\/comes-late$|\?.*types=late)/, async (route) => {
      await held.promise
      await route.continue().catch(() => {})
    })
    await goto('/tasks/nobody')
    await page.getByText('There is no task nobody').waitFor()
    await goto('/tasks/comes-late')
    await page.getByText('Loading the task…').waitFor()
    expect(await page.getByText('There is no task').count()).toBe(0)

    const refused = { type: 'about:blank', title: 'No', status: 400, code: 'no', detail: 'it cannot' }
    await page.route(/\/api\/v1\/tasks\?.*types=refused/, (route) =>
      route.fulfill({ status: 400, contentType: 'application/problem+json', body: JSON.stringify(refused) }),
    )
    await goto('/tasks?types=refused')
    await page.getByText('Could not get the tasks.').waitFor()
    await goto('/tasks?types=late')
    await page.getByText('Loading the tasks…').waitFor()
    expect(await page.getByText('Could not get the tasks.').count()).toBe(0)
    held.resolve()
    await page.getByText('No task is like this').waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    await scene.runtime.cancel('comes-late')
    faults.splice(0, Infinity, ...faults.filter((fault) => !/40[04]/.test(fault)))
  })

  inLong('selected rows are acted on, and their number is on the button', async () => {
    for (const taskId of ['row-1', 'row-2']) await scene.runtime.submit('listen', null, { taskId })
    await goto('/tasks?types=listen&states=queued,running,waiting')
    for (const taskId of ['row-1', 'row-2']) await page.getByLabel(`Select ${taskId}`).check()
    await press('Cancel 2')
    await inDialog('Cancel 2 tasks')
    await page.getByText('2 of 2 looked at, 2 canceled. Done.').waitFor()
    await inDialog('Close')
    expect([await stateOf('row-1'), await stateOf('row-2')]).toEqual(['canceled', 'canceled'])

    await goto('/tasks?types=listen&states=canceled')
    for (const taskId of ['row-1', 'row-2']) await page.getByLabel(`Select ${taskId}`).check()
    await press('Retry 2')
    await page.getByRole('dialog').getByText('failed or canceled tasks').waitFor()
    await inDialog('Retry 2 tasks')
    await page.getByText('2 of 2 looked at, 2 submitted again. Done.').waitFor()
    await inDialog('Close')
    await page.getByText('2 selected').waitFor({ state: 'detached' })
    const [second, first] = (await scene.runtime.list({ types: ['listen'], limit: 2 })).tasks
    const history = await scene.runtime.history(first?.taskId ?? '')
    expect(history.events[0]?.data).toMatchObject({ asRetry: true, forkOf: 'row-1' })
    for (const task of [first, second]) await scene.runtime.cancel(task?.taskId ?? '')
  })

  inLong('a budget that asks goes on with more', async () => {
    await goto('/limits')
    await press('Go on with spend-1')
    await page
      .getByRole('dialog')
      .getByLabel(/Raise the limit of steps/)
      .fill('10')
    await inDialog('Go on')
    await page.getByText('1 task goes on').waitFor()
    expect(await scene.runtime.result('spend-1')).toBe('spent')
  })

  inLong('a schedule is run, paused, resumed and removed', async () => {
    await goto('/schedules')
    await press('Run now heartbeat')
    await page.getByText('A run of heartbeat was submitted').waitFor()
    await press('Pause heartbeat')
    await expect.poll(async () => (await scene.runtime.schedules.get('heartbeat'))?.paused).toBe(true)
    await press('Resume heartbeat')
    await expect.poll(async () => (await scene.runtime.schedules.get('heartbeat'))?.paused).toBe(false)
    await page
      .getByRole('row', { name: /heartbeat/ })
      .getByRole('button', { name: 'Remove' })
      .click()
    await inDialog('Remove the schedule')
    await page.getByText('heartbeat was removed').waitFor()
    expect(await scene.runtime.schedules.get('heartbeat')).toBeUndefined()
  })

  inLong('a dead letter is submitted again, once', async () => {
    await goto('/')
    const failed = await scene.runtime.count({ states: ['failed'] })
    await page.getByText(`${failed} tasks have failed permanently`).waitFor()
    await goto('/dead-letters')
    await press('Retry charge-99')
    await page.getByText('Submitted again as').waitFor()
    await press('Retry charge-99')
    const again = await scene.runtime.list({ types: ['charge-card'] })
    expect(again.tasks.filter(({ input }) => (input as { amount: number }).amount === 99)).toHaveLength(2)
  })

  inLong('keys go to pages, list themselves, move in lists, and pause', async () => {
    await goto('/')
    await page.getByText('What needs you').waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    expect(await lookAt(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.getByRole('heading', { name: 'Tasks' }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content')
    await page.locator('[data-row]').first().waitFor()
    await page.keyboard.press('p')
    await page.getByRole('button', { name: 'Paused' }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toMatch(/\/tasks\/./)
    // A page that is opened while pages stand still shows what there is.
    await page.locator('.span').first().waitFor()
    await press('Paused')
  })

  inLong('on a paused page a reading that was cut off goes on where it was', async () => {
    const { events } = await scene.runtime.history('charge-250')
    expect(events.length).toBeGreaterThan(3)
    const third = String(events[2]?.seq)
    await goto('/tasks')
    await press('Live')
    await page.getByRole('button', { name: 'Paused' }).waitFor()
    const asked: (string | null)[] = []
    await page.route(/\/api\/v1\/tasks\/charge-250\/events\?/, async (route) => {
      const from = new URL(route.request().url()).searchParams.get('after')
      asked.push(from)
      if (from === third && asked.length === 2) return route.abort()
      if (from === third) return route.continue()
      const answer = await route.fetch()
      const { events: all } = (await answer.json()) as { events: unknown[] }
      return route.fulfill({ json: { events: all.slice(0, 3), cursor: Number(third) } })
    })
    await goto('/tasks/charge-250?show=events')
    await page.getByText('Could not get the events.').first().waitFor()
    const shown = page.getByRole('tabpanel').locator('time')
    expect(await shown.count()).toBe(3)
    await press('Try again')
    await expect.poll(() => shown.count()).toBe(events.length)
    expect(await page.getByText('Could not get the events.').count()).toBe(0)
    expect(asked).toEqual(['0', third, third])
    await page.unrouteAll({ behavior: 'wait' })
    await press('Paused')
    faults.splice(0)
  })

  inLong('a paused page stands still, and a live one does not', async () => {
    await goto('/tasks?types=greet&states=queued')
    await page.getByText('later-1').waitFor()
    // Asked for while the page was live, answered when it no longer is.
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(/\/api\/v1\/tasks\?/, async (route) => {
      asked.resolve()
      await held.promise
      await route.continue().catch(() => {})
    })
    await scene.runtime.submit('greet', 'new', { taskId: 'comes-soon', delayMs: 3_600_000 })
    await asked.promise
    await press('Live')
    await page.getByRole('button', { name: 'Paused' }).waitFor()
    held.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    await scene.runtime.submit('greet', 'new', { taskId: 'comes-later', delayMs: 3_600_000 })
    // Another page that is live has seen it meanwhile.
    const other = await openTab(page.context(), scene.url)
    await other.page.goto(`${scene.url}/tasks?types=greet&states=queued`)
    await other.page.getByText('comes-later').waitFor()
    await scene.runtime.submit('greet', 'new', { taskId: 'comes-last', delayMs: 3_600_000 })
    await other.page.getByText('comes-last').waitFor()
    await other.page.close()
    for (const name of ['comes-soon', 'comes-later']) expect(await page.getByText(name).count()).toBe(0)
    await press('Paused')
    await page.getByText('comes-later').waitFor()
  })
}
