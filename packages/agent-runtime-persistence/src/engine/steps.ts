/** What a database answers: at once, as SQLite does, or once it has it. */
export type Reply<T> = T | Promise<T>

/**
 * Work that asks a database and goes on with its answers. It is written once: {@link runNow} runs it where every answer is there at
 * once, without a promise; {@link runAsync} where they have to be waited for.
 */
export type Steps<T> = Generator<Promise<unknown>, T, unknown>

/** The answer itself; where it is not there yet, the work stops until it is. */
export function* got<T>(answer: Reply<T>): Steps<T> {
  return answer instanceof Promise ? ((yield answer) as T) : answer
}

/** Runs work whose database answers at once. */
export function runNow<T>(steps: Steps<T>): T {
  const step = steps.next()
  if (step.done !== true) throw new Error('this database must answer synchronously, and returned a promise')
  return step.value
}

/** Runs work whose database answers when it has it. */
export async function runAsync<T>(steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (step.done !== true) {
    let answer: unknown
    try {
      answer = await step.value
    } catch (error) {
      step = steps.throw(error)
      continue
    }
    step = steps.next(answer)
  }
  return step.value
}
