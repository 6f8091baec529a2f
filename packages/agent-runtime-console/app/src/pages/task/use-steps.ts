import type { StoredStep, TaskDetails } from '@ku0/agent-runtime-client'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { api } from '../../server/session.ts'
import type { LivePages } from '../../server/live-pages.ts'
import { allOf } from './task-events.ts'

/** The steps that come with a task, and those that somebody asks for after them. */
export function useSteps({ task, steps, stepsCursor }: TaskDetails): LivePages<StoredStep> {
  const { taskId } = task
  const more = useInfiniteQuery({
    queryKey: ['steps', taskId, stepsCursor],
    queryFn: ({ pageParam, signal }) => api().steps(taskId, { after: pageParam, limit: PAGE, signal }),
    initialPageParam: stepsCursor ?? 0,
    // The task may record more after the last that it has.
    getNextPageParam: ({ steps: some, cursor }, _, after) => cursor ?? some.at(-1)?.seq ?? after,
    enabled: false,
  })
  const { data, error, refetch, isFetching, fetchNextPage } = more
  const last = data?.pages.at(-1)
  const isAtEnd = last !== undefined && last.cursor === undefined
  useEffect(() => {
    if (isAtEnd) void fetchNextPage()
    // Whoever sees the last step sees the next one, once the task counts it.
  }, [task.steps])
  return {
    data: [...steps, ...(data?.pages.flatMap((page) => page.steps) ?? [])],
    error,
    refetch,
    hasNextPage: stepsCursor !== undefined && !isAtEnd,
    isFetchingNextPage: isFetching,
    fetchNextPage,
  }
}

/** All steps of a task, for what needs each of them; they are asked for once it is enabled. */
export function useAllSteps({ task, steps, stepsCursor }: TaskDetails, enabled = true) {
  const { taskId } = task
  return useQuery({
    queryKey: ['all steps', taskId, stepsCursor, steps.length],
    queryFn: async ({ signal }) => {
      const rest = allOf(
        async (page) => {
          const { steps: items, cursor } = await api().steps(taskId, page)
          return { items, cursor }
        },
        stepsCursor,
        signal,
      )
      const all = [...steps]
      for await (const step of rest) all.push(step)
      return all
    },
    enabled,
    initialData: stepsCursor === undefined ? steps : undefined,
  })
}

const PAGE = 200
