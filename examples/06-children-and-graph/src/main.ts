// A task that calls others, and the same work as a graph: who waits for whom stands in data.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime } from '@ku0/agent-runtime'
import { editor, judge, merge, read } from './tasks.ts'

const place = mkdtempSync(join(tmpdir(), 'children-and-graph-'))
const store = `sqlite:${join(place, 'desk.db')}`
const tasks = [editor, judge, merge, read]
try {
  await using runtime = await createRuntime({ store, tasks, logger: false })

  console.log('An editor asks its readers, and waits without a slot:')
  const edited = await runtime.submit(editor, ['news', 'blog'])
  for await (const { type } of runtime.events(edited)) if (type === 'task.waiting') break
  console.log(`  it ${(await runtime.explain(edited))?.summary}`)
  const { verdict, archive } = await runtime.result(edited)
  console.log(`  the best is ${verdict}`)
  console.log(
    `  the archive is still ${(await runtime.status(archive))?.state}: it was abandoned, and goes on`,
  )
  const { tasks: children } = await runtime.list({ parent: edited.taskId })
  console.log(
    `  its children: ${children
      .map(({ type }) => type)
      .toReversed()
      .join(', ')}`,
  )

  console.log('The same as a graph:')
  const graph = await runtime.submitGraph({
    nodes: {
      news: { task: read, input: 'news' },
      blog: { task: read, input: 'blog' },
      notes: { task: merge, inputFrom: { news: 'news', blog: 'blog' } },
      verdict: { task: judge, inputFrom: 'notes' },
    },
  })
  console.log(`  the best is ${(await runtime.result(graph)).verdict}`)

  console.log('A graph that cannot be run is refused, with everything that is wrong:')
  const wrong = runtime.submitGraph({
    nodes: {
      chicken: { task: read, input: 'x', after: ['egg'] },
      egg: { task: read, input: 'x', after: ['chicken'] },
    },
  })
  console.log(
    `  ${await wrong.then(
      () => 'accepted',
      (error: Error) => error.message,
    )}`,
  )

  console.log('A parent that is canceled takes its children with it:')
  const tired = await runtime.submit(editor, ['a source that is far too slow'])
  for await (const { type } of runtime.events(tired)) if (type === 'task.waiting') break
  await runtime.cancel(tired, { reason: 'out of time' })
  const [child] = (await runtime.list({ parent: tired.taskId })).tasks
  if (child?.state === 'canceled') console.log(`  its child was canceled: ${child.reason}`)
} finally {
  rmSync(place, { recursive: true, force: true })
}
