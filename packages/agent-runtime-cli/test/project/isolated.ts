import { defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'

export const apart = defineTask({ type: 'apart', input: z.null(), isolation: 'thread' }, () => process.pid)
export const beside = defineTask({ type: 'beside', input: z.null() }, () => process.pid)
