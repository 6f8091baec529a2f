import { noTask } from '../problem/problem.ts'
import { TaskPath } from '../wire/parameters.ts'
import { endpoint } from './endpoint.ts'

export const taskHistory = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/history',
  id: 'taskHistory',
  tag: 'events',
  summary: 'The whole history of a task as it stands, an event a line',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  answers: {
    200: { description: 'The events in order', also: { 'application/x-ndjson': 'One event of JSON a line' } },
  },
  problems: [404],
  async run({ serving, params: { taskId } }) {
    const { runtime, toJson } = serving
    if ((await runtime.status(taskId)) === undefined) throw noTask(taskId)
    const encoder = new TextEncoder()
    let after: number | undefined = 0
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(controller) {
          const page = await runtime.history(taskId, { after, limit: 200 })
          const lines = page.events.map((event) => `${JSON.stringify(toJson(event))}\n`)
          if (lines.length > 0) controller.enqueue(encoder.encode(lines.join('')))
          after = page.cursor
          if (after === undefined) controller.close()
        },
      },
      { highWaterMark: 0 },
    )
    const headers = { 'content-type': 'application/x-ndjson' }
    return { status: 200, headers, body }
  },
})
