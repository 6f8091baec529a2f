import { describeApi } from '../src/document.ts'
import { endpoints } from '../src/routes/endpoints.ts'

/** A schema of the document, as far as the page tells of it. */
interface Shape {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly items?: Shape
  readonly oneOf?: readonly Shape[]
  readonly anyOf?: readonly Shape[]
  readonly allOf?: readonly Shape[]
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema?: Shape }>>
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Shape>> }
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly parameters?: readonly {
              readonly name: string
              readonly in: string
              readonly description?: string
              readonly schema: Shape
            }[]
            readonly requestBody?: Content
            readonly responses: Readonly<Record<string, Partial<Content>>>
          }
        >
      >
    >
  >
}

/**
 * The parameters in the query of each route, the fields of each body that a route takes, and of each record that routes answer with, as rows: where,
 * field, type, meaning. The answers by request.
 */
export function fieldRows(): {
  readonly queries: readonly (readonly string[])[]
  readonly answers: ReadonlyMap<string, string>
  readonly bodies: readonly (readonly string[])[]
  readonly records: readonly (readonly string[])[]
} {
  const { components, paths } = describeApi(endpoints) as Document
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, route]) => ({
      ...route,
      name: `\`${method.toUpperCase()} ${path.replace('/api/v1', '')}\``,
    })),
  )
  const queries = routes.flatMap(({ name, parameters = [] }) =>
    parameters
      .filter((it) => it.in === 'query')
      .map((it, index) => [
        index === 0 ? name : '',
        `\`${it.name}\``,
        typeOf(it.schema),
        cell(it.description ?? it.schema.description),
      ]),
  )
  const answers = new Map(
    routes.map(({ name, responses }) => {
      const good = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {}
      const shapes = Object.values(good).flatMap(({ schema }) => schema ?? [])
      return [name, [...new Set(shapes.map(typeOf))].join(' or ')]
    }),
  )
  const bodies = routes.flatMap(({ name, requestBody }) => {
    const schema = requestBody?.content['application/json']?.schema
    if (schema?.$ref !== undefined) return [[name, '', typeOf(schema), '']]
    return schema === undefined ? [] : rowsOf(name, schema)
  })
  const records = Object.entries(components.schemas).flatMap(([name, schema]) =>
    rowsOf(`\`${name}\``, schema),
  )
  return { queries, answers, bodies, records }
}

function rowsOf(place: string, schema: Shape): string[][] {
  const variants = schema.oneOf ?? schema.anyOf ?? schema.allOf ?? [schema]
  const names = new Set(variants.flatMap(({ properties = {} }) => Object.keys(properties)))
  return [...names].map((name, index) => {
    const having = variants.filter(({ properties }) => properties?.[name] !== undefined)
    // All parts of an `allOf` hold at once.
    const needed = schema.allOf === undefined ? variants : having
    const isOptional = !needed.every(({ required = [] }) => required.includes(name))
    const shapes = having.flatMap(({ properties }) => properties?.[name] ?? [])
    return [
      index === 0 ? place : '',
      `\`${name}\`${isOptional ? ', optional' : ''}`,
      [...new Set(shapes.map(typeOf))].join(' or '),
      cell(shapes.find((it) => it.description !== undefined)?.description),
    ]
  })
}

/** A text as it stands in a table. */
function cell(text = ''): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}

function typeOf(shape: Shape): string {
  const { $ref, type, format, enum: values, items, properties } = shape
  if ($ref !== undefined) return `\`${$ref.split('/').at(-1) ?? ''}\``
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ')
  if (shape.const !== undefined) return `\`${JSON.stringify(shape.const)}\``
  if (format === 'date-time') return 'moment'
  if (items !== undefined) return `list: ${typeOf(items)}`
  const variants = shape.oneOf ?? shape.anyOf
  if (variants !== undefined) return [...new Set(variants.map(typeOf))].join(' or ')
  if (properties !== undefined)
    return `object: ${Object.keys(properties)
      .map((name, index) => (index === 6 ? '…' : `\`${name}\``))
      .slice(0, 7)
      .join(', ')}`
  return words[String(type)] ?? 'any value'
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'object',
}
