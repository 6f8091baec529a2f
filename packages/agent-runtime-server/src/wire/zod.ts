import { extendZodWithOpenApi } from '@asteasolutions/zod-to-openapi'
import { z } from 'zod'

// Schemas get `openapi`, which says what the document of the API says of them.
extendZodWithOpenApi(z)

export { z }
