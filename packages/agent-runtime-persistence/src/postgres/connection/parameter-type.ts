/** The type of a column, or of what a statement is given. */
export type ParameterType = 'bigint' | 'double precision' | 'text' | 'bytea'
