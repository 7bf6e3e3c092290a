// The daemon's JSON (docs/http.md). Numbers of 64 bits come as texts.
const Api = (() => {
  const path = (...parts) => "/v1/" + parts.map(encodeURIComponent).join("/");

  async function answer(response) {
    const body = await response.json().catch(() => ({}));
    if (response.ok) return body;
    const error = new Error(body.error?.message || `HTTP ${response.status}`);
    error.status = response.status;
    throw error;
  }

  // `query`: its empty values are left out.
  async function get(url, query = {}) {
    const set = Object.entries(query).filter(([, value]) => value);
    const tail = set.length ? "?" + new URLSearchParams(set) : "";
    return answer(await fetch(url + tail, { headers: { Accept: "application/json" } }));
  }

  const post = async (url, body = {}) => answer(await fetch(url, { method: "POST",
    headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }));

  const number = (value) => (value === undefined ? 0 : Number(value));

  return {
    number,
    jobs: (page_token, page_size = 50) => get("/v1/jobs", { page_token, page_size }),
    job: (id) => get(path("jobs", id)),
    cancel: (id) => post(path("jobs", id) + ":cancel"),
    eventsOf: (id, after) => path("jobs", id) + "/events" + (after ? `?after_sequence=${after}` : ""),
    report: (id, target) => get(path("jobs", id, "reports", String(target))),
    quarantine: () => get("/v1/quarantine"),
    release: (id) => post(path("quarantine", id) + ":release"),
    targets: () => get("/v1/targets"),
    daemon: () => get("/v1/daemon"),
    ready: () => get("/readyz"),
  };
})();
