import {
  type ConfigProblem,
  isAmount,
  isRecord,
  limitRule,
  nameRule,
  namesRule,
  problemsIn,
  type Rule,
  type Rules,
  show,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { Job } from '../api/markets.ts'
import type { Checked, Issue, Schema } from '../api/schema.ts'
import { check } from '../terms/schema.ts'

/** The schema of a job whose work has this schema. */
export function jobSchema(work: Schema): Schema<Job> {
  const validate = (given: unknown): Checked<Job> | Promise<Checked<Job>> => {
    if (!isRecord(given))
      return { issues: [{ message: `a job is an object with work; given ${show(given)}` }] }
    const issues = issuesOf(problemsIn(withoutUndefined({ ...given, work: undefined }), jobRules))
    const judge = (checked: Checked<unknown>): Checked<Job> => {
      const all = [...issues, ...(checked.issues ?? []).map(inWork)]
      return all.length > 0 || checked.issues !== undefined
        ? { issues: all }
        : { value: { ...(given as unknown as Job), work: checked.value } }
    }
    const checked = check(work, given['work'])
    return checked instanceof Promise ? checked.then(judge) : judge(checked)
  }
  return { '~standard': { version: 1, vendor: 'ku0', validate } }
}

/** A price or a cost, in credits. */
export const creditsRule: Rule = [
  'a number of credits from 0 to 1e9',
  (value) => isAmount(value) && value <= 1e9,
]

function inWork({ message, path = [] }: Issue): Issue {
  return { message, path: ['work', ...path] }
}

function issuesOf(problems: readonly ConfigProblem[]): Issue[] {
  return problems.map(({ path, allowed, given }) => ({
    message: given === undefined ? allowed : `${allowed}; given ${show(given)}`,
    path: [path],
  }))
}

const jobRules: Rules<Job> = {
  work: ['', () => true],
  needs: namesRule,
  prefers: namesRule,
  domain: nameRule,
  maxPrice: creditsRule,
  like: nameRule,
  targetMs: limitRule,
}
