// Numbers and names for people, as the terminal output has them.

// A number of JSON: texts stand for NaN and infinities.
export type Figure = number | string | null | undefined;

const THIN = "\u202f";
const SPACE = "\u00a0";
export const isNumber = (value: unknown): value is number =>
  typeof value === "number" && isFinite(value);

// 1 234 567.
export function group(value: Figure) {
  if (!isNumber(value)) return "-";
  const digits = String(Math.abs(Math.round(value)));
  const sign = value < 0 ? "\u2212" : "";
  if (digits.includes("e")) return sign + digits;
  return sign + digits.replace(/\B(?=(\d{3})+$)/g, THIN);
}

export const signed = (value: number) => (value > 0 ? "+" : "") + group(value);

// 57.0 KiB.
export function bytes(value: Figure) {
  if (!isNumber(value)) return "-";
  const size = Math.abs(value);
  if (size < 1024) return group(value) + SPACE + "B";
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
  let scaled = size / 1024;
  let unit = 0;
  while (scaled >= 1023.95 && unit + 1 < units.length) {
    scaled /= 1024;
    ++unit;
  }
  return (value < 0 ? "\u2212" : "") + scaled.toFixed(1) + SPACE + units[unit];
}

// Up to that many digits that count, without zeros at the end.
export const significant = (value: Figure, digits: number) =>
  isNumber(value) ? String(Number(value.toPrecision(digits))) : "-";

export const latency = (ms: Figure) => (!isNumber(ms) ? "-" : ms < 1e4
  ? significant(ms, 4) + SPACE + "ms"
  : significant(ms / 1e3, 4) + SPACE + "s");

export const percent = (share: Figure, digits: number) =>
  isNumber(share) ? (share * 100).toFixed(digits) + SPACE + "%" : "-";

// How much of a whole is taken: never 0 % of something.
export const fill = (share: number) => (share > 0 && share < 0.001
  ? `<${percent(0.001, 1)}` : percent(share, 1));

export function frequency(hz: number) {
  for (const [unit, scale] of [["GHz", 1e9], ["MHz", 1e6], ["kHz", 1e3]] as const) {
    if (hz >= scale) return significant(hz / scale, 6) + SPACE + unit;
  }
  return group(hz) + SPACE + "Hz";
}

// 12.3 ms, 1.23 s.
export function seconds(value: Figure) {
  if (!isNumber(value)) return "-";
  if (value < 0.1) return (value * 1e3).toFixed(1) + SPACE + "ms";
  if (value < 0.9995) return (value * 1e3).toFixed(0) + SPACE + "ms";
  if (value < 9.995) return value.toFixed(2) + SPACE + "s";
  if (value < 59.95) return value.toFixed(1) + SPACE + "s";
  const whole = Math.round(value);
  const two = (part: number) => String(Math.floor(part)).padStart(2, "0");
  return whole < 3600
    ? `${Math.floor(whole / 60)}${SPACE}min ${two(whole % 60)}${SPACE}s`
    : `${Math.floor(whole / 3600)}${SPACE}h ${two(whole % 3600 / 60)}${SPACE}min`;
}

export const lower = (name: string | undefined) =>
  (name || "").toLowerCase().replace(/_/g, "-");

// Control characters, which no name needs, become "?".
export const clean = (text: string | undefined) =>
  String(text === undefined ? "" : text).replace(/[\u0000-\u001f\u007f-\u009f]/g, "?");

// The middle is left out: names differ at their ends.
export function clip(text: string | undefined, length: number) {
  const points = Array.from(clean(text));
  if (points.length <= length) return points.join("");
  if (length < 3) return "";
  const tail = Math.floor((length - 1) / 2);
  return points.slice(0, length - 1 - tail).join("") + "\u2026" +
    points.slice(points.length - tail).join("");
}

export const count = (value: number, one: string, many: string) =>
  group(value) + SPACE + (value === 1 ? one : many);
