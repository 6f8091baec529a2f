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

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Shape>> }
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly requestBody?: {
              readonly content: { readonly 'application/json': { readonly schema: Shape } }
            }
          }
        >
      >
    >
  >
}

/** The fields of each body that a route takes, and of each record that routes answer with, as rows: where, field, type, meaning. */
export function fieldRows(): {
  readonly bodies: readonly (readonly string[])[]
  readonly records: readonly (readonly string[])[]
} {
  const { components, paths } = describeApi(endpoints) as Document
  const bodies = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const schema = requestBody?.content['application/json'].schema
      const name = `\`${method.toUpperCase()} ${path.replace('/api/v1', '')}\``
      if (schema?.$ref !== undefined) return [[name, '', typeOf(schema), '']]
      return schema === undefined ? [] : rowsOf(name, schema)
    }),
  )
  const records = Object.entries(components.schemas).flatMap(([name, schema]) =>
    rowsOf(`\`${name}\``, schema),
  )
  return { bodies, records }
}

function rowsOf(place: string, schema: Shape): string[][] {
  const variants = schema.oneOf ?? schema.anyOf ?? schema.allOf ?? [schema]
  const fields = new Map<string, { readonly shape: Shape; readonly isOptional: boolean }>()
  for (const { properties = {}, required = [] } of variants)
    for (const [name, shape] of Object.entries(properties)) {
      const inAll = variants.every((it) => it.properties?.[name] !== undefined)
      const isOptional = !inAll || !required.includes(name) || fields.get(name)?.isOptional === true
      fields.set(name, { shape, isOptional })
    }
  return [...fields].map(([name, { shape, isOptional }], index) => [
    index === 0 ? place : '',
    `\`${name}\`${isOptional ? ', optional' : ''}`,
    typeOf(shape),
    (shape.description ?? '').replaceAll('|', '\\|').replaceAll('\n', ' '),
  ])
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
