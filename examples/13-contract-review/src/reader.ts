// Stands for language models that read clauses. They fail as models do: the answers are those of a table of patterns, so that every run is the same.
import { type Coverage, requirements } from './requirements.ts'

export interface Clause {
  readonly number: string
  readonly title: string
  readonly text: string
}

/** The clauses of a contract, in their order. */
export function clausesOf(contract: string): Clause[] {
  const parts = contract.replaceAll(/^#.*\n/gm, '').split(/^(?=52\.\d{3}-\d+ )/m)
  return parts.flatMap((part) => {
    const [, number = '', title = '', text = ''] =
      /^(52\.\d{3}-\d+) (.*)\n\n([\s\S]*)$/.exec(part.trim()) ?? []
    return number === '' ? [] : [{ number, title, text }]
  })
}

/**
 * The sentences of a clause that oblige the contractor. Without a hint the model tells one of them in its own words, as models do.
 */
export function dutiesIn({ number, text }: Clause, hint: string | undefined): string[] {
  const sentences = text
    .split(/\n|(?<=\.) (?=[A-Z])/)
    .filter((it) => /\bshall\b|agrees to|will be required to/.test(it))
  const wanders = hint === undefined && number === '52.239-1'
  return sentences.map((sentence) => (wanders ? sentence.replace('shall', 'must') : sentence))
}

/** The thorough model reads this many words before its time is over. */
const thoroughReads = 500

/** How far a clause meets each requirement that it touches. Throws an error with the code `timeout` if the model takes too long. */
export function coverageIn({ number, text }: Clause, model: string | undefined): Record<string, Coverage> {
  const words = text.split(/\s+/).length
  if (model === 'thorough' && words > thoroughReads) {
    const message = `model 'thorough' has not read clause ${number} of ${words} words in time`
    throw Object.assign(new Error(message), { code: 'timeout' })
  }
  return Object.fromEntries(
    requirements.flatMap(({ id, meets, nears }): [string, Coverage][] => {
      if (meets.test(text)) return [[id, 'covered']]
      return nears?.test(text) === true ? [[id, 'partly']] : []
    }),
  )
}
