/** The time: not in the system prompt, where it would make every request new, but for the asking. */
import { z } from 'zod';
import type { Plugin } from '../../plugins.ts';
import { defineTool } from '../types.ts';

const currentTime = defineTool({
  name: 'current_time',
  description:
    'Returns the current date and time in a time zone. Use it whenever the answer depends on today, now, a weekday ' +
    'or how long ago something was; never guess the date.',
  input: z.strictObject({
    time_zone: z.string().describe('An IANA name such as Europe/Paris; UTC where absent').optional(),
  }),
  parallelSafe: true,
  idempotent: true,
  run({ time_zone = 'UTC' }, { now }) {
    const date = new Date(now());
    const parts = new Intl.DateTimeFormat('en-GB', {
      timeZone: time_zone,
      weekday: 'long',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    }).formatToParts(date);
    const of = (type: string) => parts.find((part) => part.type === type)?.value ?? '';
    const day = `${of('year')}-${of('month')}-${of('day')}`;
    const time = `${of('hour')}:${of('minute')}:${of('second')}`;
    return `${of('weekday')} ${day} ${time} ${of('timeZoneName')} (${time_zone})`;
  },
});

const daysBetween = defineTool({
  name: 'days_between',
  description: 'Counts the calendar days from one date to another; negative where the second comes first.',
  input: z.strictObject({ from: z.iso.date(), to: z.iso.date() }),
  parallelSafe: true,
  idempotent: true,
  run({ from, to }) {
    const day = 86_400_000;
    return String(Math.round((Date.parse(to) - Date.parse(from)) / day));
  },
});

export const timeTools: Plugin = {
  name: 'time',
  tools: [currentTime, daysBetween],
  sections: [
    {
      name: 'time:guidance',
      order: 110,
      text: 'Where several answers depend on the date, ask for the time once and reckon from there with the tools.',
    },
  ],
};
