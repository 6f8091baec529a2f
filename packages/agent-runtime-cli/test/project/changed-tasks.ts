import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

/** The same type as in `tasks.ts`, whose step has another name. */
export const wait = defineTask({ type: 'wait', input: z.null() }, (ctx) => ctx.waitForSignal<string>('come'))
