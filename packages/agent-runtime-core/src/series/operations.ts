import type { Operations } from '../transition/operation.ts'
import type { SeriesWrites } from './port.ts'

export const seriesOperations: Operations<SeriesWrites> = {
  sample: {
    rank: 3,
    needs: () => {},
    fold(ws, { samples }) {
      ws.samples.push(...samples)
      return { kept: samples.length }
    },
  },
}
