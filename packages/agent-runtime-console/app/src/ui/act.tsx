import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Failed } from './problem.tsx'
import { useToast } from './toast.tsx'

/** It gives the words that say that it was done. */
export type Action = () => Promise<ReactNode>

/** Runs an action once at a time, says how it went, and has every list ask again. What failed can be tried again. */
export function useAct() {
  return useRun(useTellFailure())
}

/** Gets what failed, and does it once more. */
type OnFailure = (error: unknown, again: () => void) => void

/** Says it for a few seconds. */
export function useTellFailure(): OnFailure {
  const say = useToast()
  return (error, again) => {
    const close = say(
      <Failed
        error={error}
        onRetry={() => {
          close()
          again()
        }}
      />,
      true,
    )
  }
}

/** The same where a failure is shown in another way. */
export function useRun(onFailure: OnFailure) {
  const [isBusy, setBusy] = useState(false)
  const say = useToast()
  const queries = useQueryClient()
  const act = async (action: Action): Promise<boolean> => {
    setBusy(true)
    try {
      say(await action())
      return true
    } catch (error) {
      onFailure(error, () => void act(action))
      return false
    } finally {
      setBusy(false)
      await queries.invalidateQueries()
    }
  }
  return { isBusy, act }
}
