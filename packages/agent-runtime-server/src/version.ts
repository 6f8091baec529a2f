/** The version of the API: its first number is that of its path. */
export const API_VERSION = '1.0.0'
