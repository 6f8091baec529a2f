import type { Rule } from './rule.ts'
import { rules } from './rules.ts'

export type { Rule, RuleContext } from './rule.ts'

/** The plugin, for ESLint's flat configuration and for oxlint's `jsPlugins`. */
export interface Plugin {
  readonly meta: { readonly name: string }
  readonly rules: Readonly<Record<string, Rule>>
  /** Configurations of ESLint: `recommended` turns every rule on. */
  readonly configs: {
    readonly recommended: {
      readonly plugins: { readonly 'agent-runtime': Pick<Plugin, 'meta' | 'rules'> }
      readonly rules: Readonly<Record<`agent-runtime/${string}`, 'error'>>
    }
  }
}

const meta = { name: 'agent-runtime' }

const plugin: Plugin = {
  meta,
  rules,
  configs: {
    recommended: {
      plugins: { 'agent-runtime': { meta, rules } },
      rules: Object.fromEntries(
        Object.keys(rules).map((name) => [`agent-runtime/${name}` as const, 'error' as const]),
      ),
    },
  },
}

export default plugin
