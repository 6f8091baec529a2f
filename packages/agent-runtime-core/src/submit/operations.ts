import { submit } from './submit.ts'
import { submitNeeds } from './needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { SubmitWrites } from './port.ts'

export const submitOperations: Operations<SubmitWrites> = {
  submit: { rank: 3, needs: submitNeeds, fold: (ws, { tasks }) => submit(ws, tasks) },
}
