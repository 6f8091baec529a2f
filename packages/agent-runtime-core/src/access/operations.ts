import type { Operations } from '../transition/operation.ts'
import type { AccessWrites } from './port.ts'
import { putAccessToken, revokeAccessToken } from './transitions.ts'

export const accessOperations: Operations<AccessWrites> = {
  putAccessToken: {
    rank: 3,
    needs(needs, { name }) {
      needs.want('counts', 'accessTokens', 'accessTokens')
      needs.accessToken(name)
    },
    fold: putAccessToken,
  },
  revokeAccessToken: {
    rank: 3,
    needs: (needs, { name }) => needs.accessToken(name),
    fold: revokeAccessToken,
  },
}
