// Where the rules of a page begin: its headings, list items that begin with a name in bold, as `- **Restarts.** …`, and rows of tables.

export interface Rule {
  /** The number of the rule (`4.10`, `C7`, `T5`, `Theorem 11`), or its heading if it has none. */
  readonly name: string
  readonly heading: string
  /** From its heading to the next one. */
  readonly text: string
}

/** The pages in which each numbered rule must have a test. */
export const ruledPages = ['docs/semantics.md', 'docs/reliability.md']

/** The rules of a page: its sections, in the page of the guarantees its named promises, and in that of the paper the rows of its tables. */
export function rulesOf(page: string, text: string): Rule[] {
  if (page === 'docs/guarantees.md') return promises(text)
  return page === 'docs/paper.md' ? items(text) : sections(text)
}

/** The rules that have a number. */
export function numberedRules(page: string, text: string): Rule[] {
  return rulesOf(page, text).filter(({ name, heading }) => name !== heading)
}

function sections(text: string): Rule[] {
  const [, ...parts] = text.split(/^###? (?=\S)/m)
  return parts.map((part) => {
    const heading = part.split('\n', 1)[0] ?? ''
    return { name: /^([A-Z]\d+|\d+\.\d+)(?= )/.exec(heading)?.[0] ?? heading, heading, text: part }
  })
}

function promises(text: string): Rule[] {
  return [...text.matchAll(/^- \*\*(.+?)\.\*\* [^]*?(?=\n- |\n\n|$(?![^]))/gm)].map(([part, name = '']) => ({
    name,
    heading: name,
    text: part,
  }))
}

/** Rows that begin with an item and its name, as `| Theorem 11: idempotency | …`. */
function items(text: string): Rule[] {
  return [...text.matchAll(/^\| (([^|:]+): [^|]+?) *\|.*$/gm)].map(([row, heading = '', name = '']) => ({
    name,
    heading,
    text: row,
  }))
}
