/** A node of the syntax tree, as ESLint and oxlint give it: what a rule reads of it depends on its `type`. */
export interface Node {
  readonly type: string
  readonly parent?: Node | null
  readonly [field: string]: unknown
}

/** The parts of a linter that a rule uses. ESLint and oxlint both have it. */
export interface RuleContext {
  report(problem: { readonly node: never; readonly message: string }): void
}

/** A rule of ESLint, which oxlint runs as well. */
export interface Rule {
  readonly meta: {
    readonly type: 'problem'
    readonly docs: { readonly description: string; readonly url: string }
    readonly schema: readonly []
  }
  create(context: RuleContext): Record<string, (node: never) => void>
}

/** A rule that looks at nodes of some types, and says what is wrong with one. */
export function ruleFor(
  description: string,
  types: readonly string[],
  problemIn: (node: Node) => string | undefined,
): Rule {
  const url = 'https://github.com/ku0/agent-runtime/blob/main/docs/lint.md'
  return {
    meta: { type: 'problem', docs: { description, url }, schema: [] },
    create(context) {
      const look = (node: never) => {
        const message = problemIn(node)
        if (message !== undefined) context.report({ node, message })
      }
      return Object.fromEntries(types.map((type) => [type, look]))
    },
  }
}
