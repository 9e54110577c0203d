/** What `--dry-run` says about an experiment: how many runs, how long, how much disk and memory, and which of it is not known. */
import type { Forecast } from '../../study/forecast.ts';
import { formatDuration } from './step-table.ts';

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e8 ? 3 : 1)} GB`;
const gibibytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GiB`;

export function forecastLines(forecast: Forecast, runs: number): string[] {
  const { left, atATime, disk, gpus, hostBytes, hostFreeBytes } = forecast;
  const updates = left.reduce((sum, { config }) => sum + config.updates, 0);
  const { checkpointBytes, ledgerBytes, freeBytes } = disk;
  const ledgers = ledgerBytes === null ? 'ledgers not known yet' : `ledgers ${gigabytes(ledgerBytes)}, measured`;
  return [
    `runs     ${left.length} of ${runs} left, ${updates} updates; ${atATime} at a time`,
    `time     ${timeText(forecast)}`,
    `disk     ${gigabytes(checkpointBytes + (ledgerBytes ?? 0))} of ${gigabytes(freeBytes)} free: checkpoints ${gigabytes(checkpointBytes)}, ${ledgers}`,
    ...gpus.map(({ name, freeBytes: free, neededBytes }) => {
      const room =
        free === null ? '' : ` of ${gibibytes(free)} free${neededBytes > free ? ', which is too little' : ''}`;
      return `GPU ${name.padEnd(4)} at most ${gibibytes(neededBytes)}${room}`;
    }),
    hostBytes === null
      ? `memory   not known yet; ${gibibytes(hostFreeBytes)} free`
      : `memory   ${gibibytes(hostBytes)} of ${gibibytes(hostFreeBytes)} free, measured`,
  ];
}

function timeText({ left, seconds, unmeasured, rates, atATime }: Forecast): string {
  if (left.length === 0) return 'none';
  if (seconds === null) return `not known: no run like ${unmeasured.join(', ')} was measured on this machine yet`;
  const measured = [...new Set(rates.map((rate) => rate.atATime))].sort((a, b) => a - b);
  const days = rates.map(({ at }) => at.slice(0, 10)).sort();
  const beside = measured.join() === `${atATime}` ? '' : `, with ${measured.join(' and ')} at a time`;
  return `${formatDuration(seconds)}, as runs of the same shape took on this machine${beside} (since ${days[0]})`;
}
