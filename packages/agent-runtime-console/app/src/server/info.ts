import type { UseQueryResult } from '@tanstack/react-query'
import { ask } from './ask.ts'
import { useLiveQuery } from './live.tsx'

/** What the server says of itself and of who asks. */
export interface Info {
  readonly kind: string
  readonly durability: string
  readonly storeId: string
  /** Whether it has the handlers of the tasks. */
  readonly replays: boolean
  readonly scopes?: readonly string[]
}

export function useInfo(): UseQueryResult<Info> {
  return useLiveQuery(['info'], () => ask<Info>('GET', '/info'), { isSlow: true })
}

/** Whether this page may act. What it may not is not offered. */
export function useMayOperate(): boolean {
  return useInfo().data?.scopes?.includes('operate') ?? true
}
