// The daemon's HTTP port: requests that do not end, bodies that are hard to
// parse, streams that nobody reads, answers that nobody waits for.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/chaos/attack_calls.h"
#include "tests/chaos/attacker.h"
#include "tests/chaos/plain_connection.h"

namespace edgekiln::chaos {
namespace {

constexpr int kHeld = 400;  // More than the daemon has for HTTP.
constexpr int kBodyBytes = 1 << 20;
constexpr absl::Duration kHold = absl::Seconds(3);

absl::Status StatusOf(const std::string& answer) {
  if (answer.empty()) return absl::UnavailableError("no answer");
  if (absl::StartsWith(answer, "HTTP/1.1 2")) return absl::OkStatus();
  return absl::InvalidArgumentError(answer.substr(0, 12));
}

// Asks on a connection of its own.
void Ask(Attack& attack, const std::string& request) {
  const int fd = StartConnecting(attack.target().http_address);
  const bool sent = fd >= 0 && SendAll(fd, request);
  attack.Count(sent ? StatusOf(AnswerOf(fd))
                    : absl::UnavailableError("no connection"));
  if (fd >= 0) close(fd);
}

std::string Post(const std::string& path, const std::string& body) {
  return absl::StrCat("POST ", path,
                      " HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                      "application/json\r\nContent-Length: ",
                      body.size(), "\r\n\r\n", body);
}

std::string Get(const std::string& path) {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

// JSON that costs most for its size: deep, wide, or full of escapes.
std::vector<std::string> HardBodies() {
  std::string wide = "{\"sweep\":{\"groups\":[";
  while (wide.size() < kBodyBytes - 16) absl::StrAppend(&wide, "{},");
  std::string escapes = "{\"request_id\":\"";
  while (escapes.size() < kBodyBytes - 16) absl::StrAppend(&escapes, "\\u0041");
  return {std::string(kBodyBytes, '['), absl::StrCat(wide, "{}]}}"),
          absl::StrCat(escapes, "\"}"), std::string(kBodyBytes, '\xff')};
}

// What connection `number` says before it falls silent.
std::string Opening(int number) {
  switch (number % 5) {
    case 0:
      return "GET /v1/jobs HT";
    case 1:  // A body that is announced and does not come.
      return "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
             "application/json\r\nContent-Length: 1048576\r\n\r\n{";
    case 2:  // A long answer that nobody reads.
      return Get("/v1/jobs?page_size=1000") + Get("/v1/targets") + Get("/");
    case 3:  // A stream of a job that does not exist.
      return Get("/v1/jobs/none/events");
    default:  // Headers that do not end.
      return absl::StrCat("GET / HTTP/1.1\r\nX: ", std::string(30'000, 'x'));
  }
}

void Hold(Attack& attack) {
  while (true) {
    std::vector<int> open;
    for (int i = 0; i < kHeld; ++i) {
      const int fd = StartConnecting(attack.target().http_address);
      if (fd < 0) break;
      open.push_back(fd);
      SendAll(fd, Opening(i));
      attack.CountSilent();
    }
    Attack::Pause(kHold);
    for (const int fd : open) close(fd);
    Attack::Pause(kHold);
  }
}

}  // namespace

void AttackHttp(Attack& attack) {
  std::thread holds([&attack] { Hold(attack); });
  const std::vector<std::string> bodies = HardBodies();
  for (size_t i = 0;; ++i) {
    Ask(attack, Post("/v1/sweeps:plan", bodies[i % bodies.size()]));
    Ask(attack, Post("/v1/jobs", bodies[(i + 1) % bodies.size()]));
    Ask(attack,
        Get(absl::StrCat("/v1/jobs?page_size=", std::string(2000, '9'))));
    Attack::Pause(absl::Milliseconds(100));
  }
}

}  // namespace edgekiln::chaos
