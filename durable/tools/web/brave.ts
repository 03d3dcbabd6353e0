/** Brave Search API, web search: GET /res/v1/web/search with the header X-Subscription-Token. */
import { z } from 'zod';
import {
  askService,
  isWebAddress,
  refuseShape,
  type SearchService,
  type ServiceOptions,
  toPlainText,
} from './search-provider.ts';

const NAME = 'Brave Search';

/** A query that finds nothing on the web has no `web`. */
const answer = z.object({
  type: z.literal('search'),
  web: z
    .object({
      results: z.array(z.object({ title: z.string(), url: z.string(), description: z.string().nullish() })),
    })
    .nullish(),
});

export function braveSearch({
  key = 'BRAVE_SEARCH_API_KEY',
  baseUrl = 'https://api.search.brave.com',
}: ServiceOptions = {}): SearchService {
  return {
    name: NAME,
    key,
    open: (token, fetch) => ({
      name: NAME,
      async search(query, { count, signal }) {
        const parameters = new URLSearchParams({
          q: query,
          count: String(count),
          result_filter: 'web',
          text_decorations: 'false',
        });
        const request = {
          name: NAME,
          key,
          url: `${baseUrl}/res/v1/web/search?${parameters}`,
          init: { headers: { accept: 'application/json', 'x-subscription-token': token } },
        };
        const parsed = answer.safeParse(await askService(request, fetch, signal));
        if (!parsed.success) throw refuseShape(NAME);
        return (parsed.data.web?.results ?? [])
          .filter(({ url }) => isWebAddress(url))
          .slice(0, count)
          .map(({ title, url, description }) => ({
            title: toPlainText(title),
            url,
            snippet: toPlainText(description ?? ''),
          }));
      },
    }),
  };
}
