import { evaluate } from './evaluate.ts'
import { evaluationNeeds } from './needs.ts'
import type { Operations } from '../transition/operation.ts'
import type { EvaluationWrites } from './port.ts'

export const evaluationOperations: Operations<EvaluationWrites> = {
  evaluate: { rank: 3, needs: evaluationNeeds, fold: evaluate },
}
