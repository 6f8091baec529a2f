// Where the rules of a page begin: its headings, and list items that begin with a name in bold, as `- **Restarts.** …`.

export interface Rule {
  /** The number of the rule (`4.10`, `C7`, `T5`), or its heading if it has none. */
  readonly name: string
  readonly heading: string
  /** From its heading to the next one. */
  readonly text: string
}

/** The pages in which each numbered rule must have a test. */
export const ruledPages = ['docs/semantics.md', 'docs/reliability.md']

/** The rules of a page: its sections, and in the page of the guarantees its named promises. */
export function rulesOf(page: string, text: string): Rule[] {
  return page === 'docs/guarantees.md' ? promises(text) : sections(text)
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
