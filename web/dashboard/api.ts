// The daemon's JSON (docs/http.md). Numbers of 64 bits come as texts.

import type { DaemonStatus, Job, ListJobsResponse, ListQuarantineResponse,
  ListTargetsResponse, Report } from "proto/api";

// An answer that is not 2xx.
export class Refusal extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}

const path = (...parts: string[]) => "/v1/" + parts.map(encodeURIComponent).join("/");

async function answer<T>(response: Response): Promise<T> {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  throw new Refusal(response.status, body.error?.message || `HTTP ${response.status}`);
}

// `query`: its empty values are left out.
async function get<T>(url: string, query: Record<string, string | number> = {}): Promise<T> {
  const set = Object.entries(query).filter(([, value]) => value)
    .map(([name, value]) => [name, String(value)]);
  const tail = set.length ? `?${new URLSearchParams(set)}` : "";
  return answer<T>(await fetch(url + tail, { headers: { Accept: "application/json" } }));
}

const post = async <T>(url: string) => answer<T>(await fetch(url, { method: "POST",
  headers: { "Content-Type": "application/json" }, body: "{}" }));

export const number = (value: string | number | undefined) =>
  (value === undefined ? 0 : Number(value));

export const jobs = (page_token: string) =>
  get<ListJobsResponse>("/v1/jobs", { page_token, page_size: 50 });
export const job = (id: string) => get<Job>(path("jobs", id));
export const cancel = (id: string) => post<Job>(path("jobs", id) + ":cancel");
export const eventsOf = (id: string, after: number) =>
  path("jobs", id) + "/events" + (after ? `?after_sequence=${after}` : "");
export const report = (id: string, target: number) =>
  get<Report>(path("jobs", id, "reports", String(target)));
export const quarantine = () => get<ListQuarantineResponse>("/v1/quarantine");
export const release = (id: string) => post(path("quarantine", id) + ":release");
export const targets = () => get<ListTargetsResponse>("/v1/targets");
export const daemon = () => get<DaemonStatus>("/v1/daemon");
export const ready = () => get("/readyz");

export type Format = "json" | "html" | "csv" | "markdown" | "perfetto" | "model-explorer";

// A report of a job: "JOB/TARGET", as RenderReportRequest.beside has it.
export const reportName = (job: string, target: number) => `${job}/${target}`;

// Where the first report is found in that format, with the others beside it.
export function renderedAt([first, ...beside]: string[], format: Format) {
  const [job, target] = first.split("/");
  const query = new URLSearchParams(beside.map((name) => ["beside", name]));
  return path("jobs", job, "reports", target, format) + (beside.length ? `?${query}` : "");
}
