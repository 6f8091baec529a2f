// What an agent can do side by side: steps, branches, a race against a deadline, and a step that is tried again.
import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

/** What the agent works with. */
export interface Outside {
  read(topic: string): Promise<string>
  /** Ends when nobody wants its answer any more, too. */
  askTheExpert(signal: AbortSignal): Promise<string>
  upload(): string
}

export function surveyTask(outside: Outside) {
  return defineTask(
    { type: 'survey', input: z.object({ topics: z.array(z.string()) }) },
    async (ctx, { topics }) => {
      // Steps side by side: plain Promise.all. Each has a key of its own; the topic makes it one.
      const pages = await Promise.all(
        topics.map((topic) => ctx.step(`read ${topic}`, () => outside.read(topic))),
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
        expert: (branch) => branch.step('ask the expert', ({ signal }) => outside.askTheExpert(signal)),
        deadline: (branch) => branch.sleep('half a second', 500),
      })

      // A step that fails is tried again. The waits between its tries are the task's, and survive a restart.
      const retry = { attempts: 5, backoff: { initialMs: 50 } }
      const stored = await ctx.step('upload', { retry }, () => outside.upload())

      return { views, opinion: opinion.winner === 'expert' ? opinion.value : 'none in time', stored }
    },
  )
}
