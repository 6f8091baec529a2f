// What an agent can do side by side: steps, branches, a race against a deadline, and a step that is tried again.
import { setTimeout as pause } from 'node:timers/promises'
import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

let failures = 2

const survey = defineTask(
  { type: 'survey', input: z.object({ topics: z.array(z.string()) }) },
  async (ctx, { topics }) => {
    // Steps side by side: plain Promise.all. Each has a key of its own; the topic makes it one.
    const pages = await Promise.all(
      topics.map((topic) =>
        ctx.step(`read ${topic}`, async () => {
          await pause(100)
          return `a page on ${topic}`
        }),
      ),
    )

    // Branches side by side: each may have several steps and waits. The results come back by name.
    const views = await ctx.all('views', {
      short: (branch) => branch.step('sum up', () => `${pages.length} pages`),
      long: async (branch) => {
        const draft = await branch.step('draft', () => pages.join(', '))
        return branch.step('polish', () => `${draft}.`)
      },
    })

    // A race: the slow one has until the deadline. The loser is told by its signal.
    const opinion = await ctx.race('opinion in time', {
      expert: (branch) => branch.step('ask the expert', ({ signal }) => pause(60_000, 'well, …', { signal })),
      deadline: (branch) => branch.sleep('half a second', 500),
    })

    // A step that fails is tried again. The waits between its tries are the task's, and survive a restart.
    const stored = await ctx.step('upload', { retry: { attempts: 5, backoff: { initialMs: 50 } } }, () => {
      failures -= 1
      if (failures >= 0) throw new Error('the server is away')
      return 'stored'
    })

    return { views, opinion: opinion.winner === 'expert' ? opinion.value : 'none in time', stored }
  },
)

await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [survey], logger: false })
const receipt = await runtime.submit(survey, { topics: ['rain', 'wind', 'snow'] })
console.log(JSON.stringify(await runtime.result(receipt), undefined, 2))

for await (const { type, data } of runtime.events(receipt)) {
  if (type === 'step.completed') console.log(`done: ${data.key}`)
  if (type === 'step.failed') console.log(`failed: ${data.key}`)
}
