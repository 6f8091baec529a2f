import type { Operations } from '../transition/operation.ts'
import { foldLedger, foldLedgerNeeds } from './fold-ledger.ts'
import { purchase, purchaseNeeds } from './purchase.ts'
import type { LedgerWrites } from './port.ts'

export const ledgerOperations: Operations<LedgerWrites> = {
  purchaseCredits: { rank: 3, needs: purchaseNeeds, fold: purchase },
  foldLedger: { rank: 4, needs: foldLedgerNeeds, fold: foldLedger },
}
