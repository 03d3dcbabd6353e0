/** Tavily Search API: POST /search with a bearer key. */
import { z } from 'zod';
import {
  askService,
  isWebAddress,
  refuseShape,
  type SearchService,
  type ServiceOptions,
  toPlainText,
} from './search-provider.ts';

const NAME = 'Tavily';
/** Of its own numbers; 432 and 433 are limits of an account, which pass with no time that a turn could wait. */
const STATUSES = {
  432: "the plan's usage limit is reached; only an operator can put that right",
  433: 'the pay-as-you-go limit is reached; only an operator can put that right',
};

const answer = z.object({
  results: z.array(z.object({ title: z.string().nullish(), url: z.string(), content: z.string().nullish() })),
});

export function tavilySearch({
  key = 'TAVILY_API_KEY',
  baseUrl = 'https://api.tavily.com',
}: ServiceOptions = {}): SearchService {
  return {
    name: NAME,
    key,
    open: (token, fetch) => ({
      name: NAME,
      async search(query, { count, signal }) {
        const request = {
          name: NAME,
          key,
          url: `${baseUrl}/search`,
          statuses: STATUSES,
          init: {
            method: 'POST',
            headers: {
              accept: 'application/json',
              authorization: `Bearer ${token}`,
              'content-type': 'application/json',
            },
            body: JSON.stringify({ query, max_results: count, search_depth: 'basic' }),
          },
        };
        const parsed = answer.safeParse(await askService(request, fetch, signal));
        if (!parsed.success) throw refuseShape(NAME);
        return parsed.data.results
          .filter(({ url }) => isWebAddress(url))
          .slice(0, count)
          .map(({ title, url, content }) => ({
            title: toPlainText(title ?? ''),
            url,
            snippet: toPlainText(content ?? ''),
          }));
      },
    }),
  };
}
