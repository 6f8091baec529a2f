// The rules of this house that no published linter has; `.oxlintrc.json` says where each applies.
import { definePlugin, type ESTree, type Rule } from '@oxlint/plugins'

type Import =
  | ESTree.ImportDeclaration
  | ESTree.ImportExpression
  | ESTree.ExportNamedDeclaration
  | ESTree.ExportAllDeclaration

/** Imports form a star: gym, cli -> server, client, runtime, persistence, telemetry -> core -> zod. */
const mayImport: Record<string, string[]> = {
  'agent-runtime-core': [],
  'agent-runtime-conformance': ['agent-runtime-core'],
  'agent-runtime-persistence': ['agent-runtime-core'],
  'agent-runtime-telemetry': ['agent-runtime-core'],
  'agent-runtime': ['agent-runtime-core'],
  'agent-runtime-ai': ['agent-runtime', 'agent-runtime-core'],
  // The lines of remote workers lead to a store.
  'agent-runtime-server': ['agent-runtime', 'agent-runtime-core', 'agent-runtime-persistence'],
  'agent-runtime-client': ['agent-runtime-core'],
  'agent-runtime-console': [],
  'agent-runtime-cli': [
    'agent-runtime',
    'agent-runtime-client',
    'agent-runtime-console',
    'agent-runtime-core',
    'agent-runtime-persistence',
    'agent-runtime-server',
  ],
  'eslint-plugin-agent-runtime': [],
  'agent-gym': [
    'agent-runtime',
    'agent-runtime-conformance',
    'agent-runtime-core',
    'agent-runtime-persistence',
    'agent-runtime-telemetry',
  ],
}
/** The files that put the rooms together, so that a user needs one import: for programs, and for their tests. */
const compositionRoots: ReadonlySet<string> = new Set([
  'agent-runtime/src/opened-store.ts',
  'agent-runtime/src/options.ts',
  'agent-runtime/src/surroundings.ts',
  'agent-runtime/src/testing/test-process.ts',
])

/** What hands out time, chance and ids; `*` and `default` hand out all of a module. */
const ambientExports: Record<string, RegExp> = {
  crypto: /^(\*|default|getRandomValues|random\w+|webcrypto)$/,
  perf_hooks: /^(\*|default|performance)$/,
  process: /^hrtime$/,
  timers: /^(\*|default|set\w+)$/,
  'timers/promises': /^(\*|default|scheduler|set\w+)$/,
}

/** They look at a path and never hold its file open. */
const harmlessFileCall =
  /^(access|chmod|exists|lstat|mkdir|mkdtemp|readdir|readlink|realpath|rm|rmdir|stat|statfs|unlink)(Sync)?$|^(constants|Stats)$/

const importStar: Rule = {
  create(context) {
    const [, file, room] = /packages\/(([^/]+)\/.*)$/.exec(context.filename.replaceAll('\\', '/')) ?? []
    const allowed = room === undefined ? undefined : mayImport[room]
    if (file === undefined || room === undefined || allowed === undefined) return {}

    return eachImport((source, node) => {
      const target = /^@ku0\/([^/]+)/.exec(source)?.[1]
      const isFree = compositionRoots.has(file)
      if (target !== undefined && target !== room && !allowed.includes(target) && !isFree) {
        context.report({
          node,
          message: `${room} must not import ${target}: imports form a star around core.`,
        })
      }
      if (source.startsWith('.') && !new URL(source, `file:///${file}`).pathname.startsWith(`/${room}/`)) {
        context.report({ node, message: `Import another package by its name, not by the path ${source}.` })
      }
      if (room === 'agent-runtime-core' && !/^(\.|@ku0\/agent-runtime-core(\/|$)|zod(\/|$))/.test(source)) {
        context.report({ node, message: `Core imports only zod and itself, not ${source}.` })
      }
    })
  },
}

/**
 * Places with their folders, and those that each imports of the same place, types included. Each names only folders that stand before it, so there is
 * no circle between folders. The files beside the folders put them together and are imported by none of them, save `system.ts`, which imports nothing.
 */
export const foldersBelow: Readonly<
  Record<string, readonly (readonly [folder: string, below: readonly string[]])[]>
> = {
  'agent-runtime/src': [
    ['api', []],
    ['terms', ['api']],
    ['lease', ['api', 'terms']],
    ['retention', ['api', 'terms']],
    ['client', ['api', 'terms', 'lease', 'retention']],
    // A pass knows its host by an interface, whoever that is.
    ['durable', ['api', 'terms', 'lease']],
    ['execution', ['api', 'terms', 'lease', 'durable']],
    ['isolation', ['api', 'terms', 'lease', 'durable', 'execution']],
    ['pool', ['api', 'terms']],
    ['worker', ['api', 'terms', 'lease', 'durable', 'execution', 'isolation', 'pool', 'retention']],
    ['profile', ['api', 'terms', 'lease', 'client']],
    ['replay', ['api', 'terms', 'lease', 'client', 'durable', 'execution']],
    ['graph', ['api', 'terms', 'durable', 'execution']],
    ['supervision', ['api', 'terms', 'durable']],
    ['watchdog', ['api', 'client']],
    ['pipeline', ['api', 'terms', 'durable']],
    ['agents', ['api', 'terms']],
    ['composition', ['api', 'terms']],
    ['gateway', ['api', 'terms']],
    ['market', ['api', 'terms', 'client', 'durable', 'graph', 'agents']],
  ],
  'agent-runtime-persistence/src/postgres': [
    ['connection', []],
    ['processes', ['connection']],
    ['tables', ['connection', 'processes']],
    ['reads', ['connection']],
    ['care', ['connection', 'processes', 'tables']],
  ],
}

const importsDown: Rule = {
  create(context) {
    const file = /packages\/([^/]+\/.*)$/.exec(context.filename.replaceAll('\\', '/'))?.[1] ?? ''
    const place = Object.keys(foldersBelow).find((it) => file.startsWith(`${it}/`))
    if (place === undefined) return {}
    const [folder] = file.slice(place.length + 1).split('/')
    const [, below] = foldersBelow[place]?.find(([name]) => name === folder) ?? []
    if (below === undefined) return {}

    return eachImport((source, node) => {
      if (!source.startsWith('.')) return
      const path = new URL(source, `file:///${file}`).pathname.slice(1)
      if (!path.startsWith(`${place}/`)) return
      const target = path.slice(place.length + 1).split('/')[0] ?? ''
      if (target === folder || target === 'system.ts' || below.includes(target)) return
      const allowed = below.length === 0 ? 'nothing beside it' : below.join(', ')
      context.report({ node, message: `${folder}/ must not import ${target}: it imports ${allowed}.` })
    })
  },
}

const ambientImports: Rule = {
  create(context) {
    return eachImport((source, node) => {
      const banned = ambientExports[source.replace(/^node:/, '')]
      if (banned === undefined) return
      for (const name of importedNames(node)) {
        if (banned.test(name)) {
          context.report({
            node,
            message: `Time, chance and ids come in through the environment; only system.ts takes ${name} from ${source}.`,
          })
        }
      }
    })
  },
}

const currentDate: Rule = {
  create(context) {
    const message = 'Time comes in through the environment; only system.ts reads the clock.'
    return {
      NewExpression(node) {
        if (isDate(node.callee) && node.arguments.length === 0) context.report({ node, message })
      },
      CallExpression(node) {
        if (isDate(node.callee)) context.report({ node, message })
      },
    }
  },
}

const databaseFiles: Rule = {
  create(context) {
    return eachImport((source, node) => {
      if (!/^(node:)?fs(\/promises)?$/.test(source)) return
      for (const name of importedNames(node)) {
        if (!harmlessFileCall.test(name)) {
          context.report({
            node,
            message: `Closing a file of an open database drops SQLite's locks: persistence opens no file, so it must not import ${name} from ${source}.`,
          })
        }
      }
    })
  },
}

const bareLimit: Rule = {
  create(context) {
    const look = (node: ESTree.Node, text: string | null) => {
      if (/\b(LIMIT|OFFSET) \?(?! \+)/.test(text ?? ''))
        context.report({
          node,
          message:
            'SQLite prepares a statement with a bare `LIMIT ?` anew at every run: write `LIMIT ? + 0`.',
        })
    }
    return {
      Literal(node) {
        if (typeof node.value === 'string') look(node, node.value)
      },
      TemplateElement(node) {
        look(node, node.value.cooked)
      },
    }
  },
}

export default definePlugin({
  meta: { name: 'house' },
  rules: {
    'import-star': importStar,
    'imports-down': importsDown,
    'ambient-imports': ambientImports,
    'current-date': currentDate,
    'database-files': databaseFiles,
    'bare-limit': bareLimit,
  },
})

function eachImport(visit: (source: string, node: Import) => void) {
  const onImport = (node: Import) => {
    if (node.source?.type === 'Literal' && typeof node.source.value === 'string')
      visit(node.source.value, node)
  }
  return {
    ImportDeclaration: onImport,
    ImportExpression: onImport,
    ExportNamedDeclaration: onImport,
    ExportAllDeclaration: onImport,
  }
}

/** `*` stands for the whole module. */
function importedNames(node: Import): string[] {
  if (node.type === 'ImportExpression' || node.type === 'ExportAllDeclaration') return ['*']
  return node.specifiers.map((specifier) => {
    if (specifier.type === 'ImportNamespaceSpecifier') return '*'
    if (specifier.type === 'ImportDefaultSpecifier') return 'default'
    const name = specifier.type === 'ImportSpecifier' ? specifier.imported : specifier.local
    return name.type === 'Literal' ? name.value : name.name
  })
}

function isDate(node: ESTree.Node): boolean {
  return node.type === 'Identifier' && node.name === 'Date'
}
