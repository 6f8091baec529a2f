// The tasks, crashed after every commit: they come to the same ends, and no recorded step runs again.
import { sweepCrashes } from '@ku0/agent-runtime/testing'
import { editor, judge, merge, read } from '../src/tasks.ts'

export const tasks = [editor, judge, merge, read]

/** An editor with its readers, the same work as a graph, and an editor that is canceled with its reader. */
export const sweep = () =>
  sweepCrashes({
    tasks,
    script: async (test) => {
      const edited = await test.run(editor, ['news', 'blog'])
      const archive = await test.result(edited.archive)

      const graph = await test.runtime.submitGraph({
        nodes: {
          news: { task: read, input: 'news' },
          blog: { task: read, input: 'blog' },
          notes: { task: merge, inputFrom: { news: 'news', blog: 'blog' } },
          verdict: { task: judge, inputFrom: 'notes' },
        },
      })
      const { verdict } = await test.result(graph)

      const tired = await test.runtime.submit(editor, ['a source that is far too slow'])
      await test.until(tired, 'waiting')
      await test.runtime.cancel(tired, { reason: 'out of time' })
      const children = await test.runtime.list({ parent: tired.taskId })
      return [edited.verdict, archive, verdict, children.tasks.map(({ state }) => state)]
    },
  })
