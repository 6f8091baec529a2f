import { expect, test } from 'vitest'
import { callerOf, servedRuntime, serverOn, token } from './served.ts'

const runtime = await servedRuntime()

test('14.2 supervisors are listed page by page, and to a bound token its own', async () => {
  for (const [taskId, client] of [
    ['one', 'acme'],
    ['two', 'other'],
    ['three', 'acme'],
  ] as const) {
    await runtime.submit('watch-over', null, { taskId, client })
    for await (const { type } of runtime.events(taskId)) if (type === 'task.waiting') break
  }
  await runtime.cancel('one')
  const bound = serverOn(runtime, { tokens: [token('a', ['read'], { client: 'acme' })] })
  const listed = async (caller: ReturnType<typeof callerOf>, more = '', headers = {}) => {
    const found: string[] = []
    for (let cursor = ''; ;) {
      const { json } = await caller('GET', `/api/v1/supervisors?limit=1${more}${cursor}`, undefined, headers)
      found.push(...json.supervisors.map(({ taskId }: { readonly taskId: string }) => taskId))
      if (json.cursor === undefined) return found
      cursor = `&cursor=${json.cursor}`
    }
  }
  const call = callerOf(serverOn(runtime))
  expect(await listed(call)).toEqual(['three', 'two', 'one'])
  expect(await listed(call, '&supervising=true')).toEqual(['three', 'two'])
  expect(await listed(callerOf(bound), '', { authorization: 'Bearer a' })).toEqual(['three', 'one'])
  expect((await call('GET', '/api/v1/supervisors?limit=1')).json.supervisors).toEqual([
    {
      taskId: 'three',
      type: 'watch-over',
      state: 'waiting',
      terms: { strategy: 'one_for_one', maxRestarts: 5, periodMs: 60_000, endsWith: 'cancel' },
      children: { total: 1, open: 1, running: 0 },
      restarts: 0,
    },
  ])
  expect((await call('GET', '/api/v1/supervisors?supervising=maybe')).status).toBe(400)
  const start = { id: 'more', task: 'greet', input: null, options: { shutdownMs: 0, restart: 'never' } }
  expect((await call('POST', '/api/v1/tasks/two/supervised', start)).json.fields).toEqual([
    { field: 'body.options.restart', allowed: 'permanent | transient | temporary' },
    { field: 'body.options.shutdownMs', allowed: 'at least 1' },
  ])
  const { json } = await call('GET', '/api/v1/tasks/nobody/supervised')
  expect(json).toMatchObject({ status: 404, code: 'not_found' })
  const child = { id: 'x', task: 'watch-over', input: null, options: { shutdownMs: 86_400_001 } }
  const refused = await call('POST', '/api/v1/tasks/two/supervised', child)
  expect(refused.json).toMatchObject({ status: 400, fields: [{ field: 'body.options.shutdownMs' }] })
  for (const taskId of ['two', 'three']) await runtime.cancel(taskId)
})
