#include "server/daemon/http/http_server.h"

#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "edgekiln/v1/jobs.grpc.pb.h"
#include "gtest/gtest.h"
#include "server/daemon/http/json_thread.h"
#include "server/daemon/rpc_status.h"

namespace edgekiln::server {
namespace {

class FakeJobs final : public v1::Jobs::Service {
 public:
  grpc::Status GetJob(grpc::ServerContext* context,
                      const v1::GetJobRequest* request, v1::Job* job) override {
    if (request->id() == "slow") {
      ++slow;
      while (!context->IsCancelled()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      ++cancelled;
    }
    if (request->id() == "none") {
      return ToGrpc(MakeError(absl::StatusCode::kNotFound,
                              {.fault = Fault::kUser, .reason = "NO_JOB"}));
    }
    job->set_id(request->id());
    job->set_state(v1::RUNNING);
    return grpc::Status::OK;
  }

  grpc::Status CreateJob(grpc::ServerContext*,
                         const v1::CreateJobRequest* request,
                         v1::Job* job) override {
    job->set_id(request->model_name());
    return grpc::Status::OK;
  }

  grpc::Status WatchJob(grpc::ServerContext* context,
                        const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::JobEvent>* writer) override {
    v1::JobEvent event;
    const int64_t last = request->id() == "many" ? 3000 : 3;
    for (int64_t i = request->after_sequence() + 1; i <= last; ++i) {
      event.set_sequence(i);
      event.mutable_stage_started()->set_name(
          std::string(request->id() == "many" ? 1000 : 4, 's'));
      if (!writer->Write(event)) return grpc::Status::CANCELLED;
    }
    while (request->id() == "endless" && !context->IsCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (context->IsCancelled()) ++cancelled;
    return grpc::Status::OK;
  }

  std::atomic<int> cancelled{0};
  std::atomic<int> slow{0};
};

class FakeReports final : public v1::Reports::Service {
 public:
  grpc::Status RenderReport(grpc::ServerContext*,
                            const v1::RenderReportRequest* request,
                            v1::RenderedReport* rendered) override {
    rendered->set_content(absl::StrCat(request->job_id(), "/",
                                       request->target(), " ",
                                       request->beside_size()));
    const bool page = request->format() == v1::RenderReportRequest::HTML;
    rendered->set_media_type(page ? "text/html; charset=utf-8" : "text/csv");
    rendered->set_file_name("net-chip.csv");
    return grpc::Status::OK;
  }
};

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&jobs_);
    builder.RegisterService(&reports_);
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    grpc_ = builder.BuildAndStart();
    daemon_ = absl::StrCat("127.0.0.1:", port);
    Start();
  }
  ~HttpServerTest() override {
    http_.reset();
    grpc_->Shutdown(std::chrono::system_clock::now());
  }

  void Start(int max_body_bytes = 1000) {
    auto http = StartHttpServer(
        {.address = "127.0.0.1:0",
         .max_connections = 50,
         .max_body_bytes = max_body_bytes},
        daemon_, [this] { return ready_; }, *log_);
    ASSERT_TRUE(http.ok()) << http.status();
    http_ = *std::move(http);
  }

  int Connect() const {
    const std::string& address = http_->address();
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    return fd;
  }

  static void Say(int fd, const std::string& text) {
    EXPECT_EQ(send(fd, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  // Until `end` was seen, or the connection ends.
  static std::string Hear(int fd, const std::string& end = "") {
    std::string text;
    char buffer[4096];
    while (end.empty() || !absl::StrContains(text, end)) {
      const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
      if (got <= 0) break;
      text.append(buffer, got);
    }
    return text;
  }

  std::string Ask(const std::string& request) const {
    const int fd = Connect();
    Say(fd, request);
    std::string answer = Hear(fd);
    close(fd);
    return answer;
  }
  std::string Get(const std::string& path, const std::string& headers = "") {
    return Ask(absl::StrCat("GET ", path,
                            " HTTP/1.1\r\nHost: localhost\r\nConnection: close"
                            "\r\n",
                            headers, "\r\n"));
  }
  std::string Post(const std::string& path, const std::string& body,
                   const std::string& headers =
                       "Content-Type: application/json; charset=utf-8\r\n") {
    return Ask(absl::StrCat("POST ", path,
                            " HTTP/1.1\r\nHost: localhost\r\nConnection: close"
                            "\r\nContent-Length: ",
                            body.size(), "\r\n", headers, "\r\n", body));
  }

  const std::unique_ptr<Clock> clock_ = NewRealClock();
  const std::unique_ptr<Logger> log_ =
      NewStderrLogger(LogLevel::kError, *clock_);
  absl::Status ready_;
  FakeJobs jobs_;
  FakeReports reports_;
  std::string daemon_;
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<HttpServer> http_;
};

// What was sent in chunks, without their lengths.
std::string Joined(const std::string& answer) {
  std::string body;
  size_t at = answer.find("\r\n\r\n") + 4;
  while (at < answer.size()) {
    const size_t line = answer.find("\r\n", at);
    const size_t bytes = std::stoul(answer.substr(at, line - at), nullptr, 16);
    body += answer.substr(line + 2, bytes);
    at = line + 2 + bytes + 2;
  }
  return body;
}

bool Is(const std::string& answer, int code) {
  return absl::StartsWith(answer, absl::StrCat("HTTP/1.1 ", code, " "));
}

TEST_F(HttpServerTest, AnswersAsGrpcDoes) {
  const std::string job = Get("/v1/jobs/j%31");
  EXPECT_TRUE(Is(job, 200)) << job;
  EXPECT_TRUE(absl::EndsWith(job, "{\"id\":\"j1\",\"state\":\"RUNNING\"}\n"))
      << job;
  EXPECT_TRUE(absl::StrContains(job, "Content-Type: application/json\r\n"));
  const std::string none = Get("/v1/jobs/none");
  EXPECT_TRUE(Is(none, 404)) << none;
  EXPECT_TRUE(absl::StrContains(none, "\"reason\":\"NO_JOB\"")) << none;
  const std::string made = Post("/v1/jobs", "{\"model_name\": \"net\"}");
  EXPECT_TRUE(absl::EndsWith(made, "{\"id\":\"net\"}\n")) << made;
  EXPECT_TRUE(Is(Get("/v1/reports"), 404));
  EXPECT_TRUE(Is(Get("/v1/jobs/%ff"), 400));
  const std::string head =
      Ask("HEAD /v1/jobs/j1 HTTP/1.1\r\nHost: localhost\r\n"
          "Connection: close\r\n\r\n");
  EXPECT_TRUE(Is(head, 200)) << head;
  EXPECT_TRUE(absl::EndsWith(head, "\r\n\r\n")) << head;
  const std::string verb =
      Ask("DELETE /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close"
          "\r\n\r\n");
  EXPECT_TRUE(Is(verb, 405)) << verb;
  EXPECT_TRUE(absl::StrContains(verb, "Allow: GET, POST\r\n")) << verb;
}

TEST_F(HttpServerTest, ReportsAreFilesAndPages) {
  const std::string csv = Get("/v1/jobs/j1/reports/2/csv");
  EXPECT_TRUE(Is(csv, 200)) << csv;
  EXPECT_TRUE(absl::EndsWith(csv, "\r\n\r\nj1/2 0")) << csv;
  EXPECT_TRUE(absl::StrContains(csv, "Content-Type: text/csv\r\n")) << csv;
  EXPECT_TRUE(absl::StrContains(
      csv, "Content-Disposition: attachment; filename=\"net-chip.csv\"\r\n"))
      << csv;
  const std::string page =
      Get("/v1/jobs/j1/reports/0/html?beside=j2/0&beside=j3/1");
  EXPECT_TRUE(absl::EndsWith(page, "j1/0 2")) << page;
  EXPECT_FALSE(absl::StrContains(page, "attachment")) << page;
  // Whatever got into it, it may not ask this daemon for anything.
  EXPECT_TRUE(absl::StrContains(
      page,
      "Content-Security-Policy: sandbox allow-scripts; default-src "
      "'none'; script-src 'unsafe-inline'"))
      << page;
  EXPECT_TRUE(Is(Get("/v1/jobs/j1/reports/0/pdf"), 400));
}

TEST_F(HttpServerTest, SaysWhetherItLivesAndIsReady) {
  EXPECT_TRUE(Is(Get("/healthz"), 200));
  EXPECT_TRUE(Is(Get("/readyz"), 200));
  ready_ = absl::UnavailableError("the disk is full");
  const std::string not_ready = Get("/readyz");
  EXPECT_TRUE(Is(not_ready, 503)) << not_ready;
  EXPECT_TRUE(absl::StrContains(not_ready, "the disk is full"));
  EXPECT_TRUE(Is(Get("/healthz"), 200));
}

// What a page of somebody else could have a browser send.
TEST_F(HttpServerTest, OtherOriginsAreRefused) {
  const auto get = [&](const std::string& host, const std::string& more) {
    return Ask(absl::StrCat("GET /v1/jobs/j1 HTTP/1.1\r\nHost: ", host,
                            "\r\nConnection: close\r\n", more, "\r\n"));
  };
  for (const char* host :
       {"localhost", "localhost:80", "127.0.0.1:7", "[::1]:7", "127.3.2.1"}) {
    EXPECT_TRUE(Is(get(host, ""), 200)) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example", "unix:x",
                           "127.0.0.1.evil.example", "1.2.3.4"}) {
    EXPECT_TRUE(Is(get(host, ""), 403)) << host;
  }
  EXPECT_TRUE(Is(get("localhost:9", "Origin: http://localhost:9\r\n"), 200));
  EXPECT_TRUE(Is(get("localhost:9", "Origin: http://localhost:8\r\n"), 403));
  EXPECT_TRUE(Is(get("localhost", "Origin: null\r\n"), 403));
  EXPECT_TRUE(Is(get("localhost", "Sec-Fetch-Site: cross-site\r\n"), 403));
  EXPECT_TRUE(Is(get("localhost", "Sec-Fetch-Site: same-origin\r\n"), 200));
  EXPECT_TRUE(Is(Post("/v1/jobs", "{}", "Content-Type: text/plain\r\n"), 415));
  EXPECT_TRUE(Is(Post("/v1/jobs", "{}", ""), 415));
}

TEST_F(HttpServerTest, BodiesAreBounded) {
  EXPECT_TRUE(Is(Post("/v1/jobs", std::string(1001, ' ')), 413));
  EXPECT_TRUE(Is(Post("/v1/jobs", "{"), 400));
  EXPECT_TRUE(Is(Get(absl::StrCat("/", std::string(100'000, 'x'))), 414));
}

TEST_F(HttpServerTest, StreamsAreEvents) {
  const std::string answer = Get("/v1/jobs/j1/events");
  EXPECT_TRUE(Is(answer, 200)) << answer;
  EXPECT_TRUE(absl::StrContains(answer, "Content-Type: text/event-stream\r\n"));
  const std::string events = Joined(answer);
  EXPECT_TRUE(absl::StrContains(events, "id: 1\nevent: stage_started\ndata: {"))
      << events;
  EXPECT_TRUE(absl::StrContains(events, "id: 3\n"));
  EXPECT_TRUE(absl::StrContains(events, "event: end\ndata: {}\n\n"));
  const std::string later =
      Joined(Get("/v1/jobs/j1/events", "Last-Event-ID: 2\r\n"));
  EXPECT_FALSE(absl::StrContains(later, "id: 2\n")) << later;
  EXPECT_TRUE(absl::StrContains(later, "id: 3\n")) << later;
}

// More than is kept for somebody who reads slowly; nothing is lost.
TEST_F(HttpServerTest, ASlowReaderHoldsNobodyUp) {
  const int fd = Connect();
  Say(fd,
      "GET /v1/jobs/many/events HTTP/1.1\r\nHost: localhost\r\n"
      "Connection: close\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(Is(Get("/v1/jobs/j1"), 200));
  const std::string events = Joined(Hear(fd));
  close(fd);
  for (int i = 1; i <= 3000; ++i) {
    ASSERT_TRUE(absl::StrContains(events, absl::StrCat("id: ", i, "\n"))) << i;
  }
  EXPECT_TRUE(absl::StrContains(events, "event: end\n"));
}

// Pages that stay open have no thread each, and who goes away is noticed.
TEST_F(HttpServerTest, ManyStreamsAtOnce) {
  std::vector<int> fds;
  for (int i = 0; i < 20; ++i) {
    fds.push_back(Connect());
    Say(fds.back(),
        "GET /v1/jobs/endless/events HTTP/1.1\r\n"
        "Host: localhost\r\n\r\n");
  }
  for (const int fd : fds) {
    EXPECT_TRUE(absl::StrContains(Hear(fd, "id: 3\n"), "id: 3\n"));
  }
  EXPECT_TRUE(Is(Get("/v1/jobs/j1"), 200));
  for (const int fd : fds) close(fd);
  EXPECT_TRUE(Is(Get("/v1/jobs/j1"), 200));
}

TEST_F(HttpServerTest, EndsWithCallsAndStreamsUnderWay) {
  const int call = Connect();
  Say(call, "GET /v1/jobs/slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
  while (jobs_.slow == 0) std::this_thread::yield();
  const int stream = Connect();
  Say(stream,
      "GET /v1/jobs/endless/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Hear(stream, "id: 3\n");
  const auto start = std::chrono::steady_clock::now();
  http_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  grpc_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  EXPECT_EQ(jobs_.cancelled, 2);
  // So that a browser comes again.
  EXPECT_FALSE(absl::StrContains(Hear(stream), "event: "));
  close(call);
  close(stream);
}

// Of some streams the call begins while the server ends.
TEST_F(HttpServerTest, EndsWhileStreamsBegin) {
  for (int round = 0; round < 20; ++round) {
    if (round > 0) Start();
    std::vector<int> fds;
    for (int i = 0; i < 20; ++i) fds.push_back(Connect());
    for (const int fd : fds) {
      Say(fd,
          "GET /v1/jobs/endless/events HTTP/1.1\r\n"
          "Host: localhost\r\n\r\n");
    }
    if (round % 2 == 1) Hear(fds[static_cast<size_t>(round)], "HTTP");
    http_.reset();
    for (const int fd : fds) close(fd);
  }
}

// A reader that has stopped does not hold up the end.
TEST_F(HttpServerTest, EndsWithAReaderThatDoesNotRead) {
  const int fd = Connect();
  Say(fd, "GET /v1/jobs/many/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto start = std::chrono::steady_clock::now();
  http_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  close(fd);
}

// Twice as many as there are connections. Each would keep one until it times
// out, which is longer than Hear() waits.
TEST_F(HttpServerTest, WhoLeavesWithinARequestKeepsNoConnection) {
  for (int i = 0; i < 100; ++i) {
    const int fd = Connect();
    Say(fd, "GET /v1/jobs HT");
    close(fd);
  }
  EXPECT_TRUE(Is(Get("/healthz"), 200));
}

// As many as there are connections, each with a request that does not end.
TEST_F(HttpServerTest, RequestsThatDoNotEndGiveWay) {
  const std::string body =
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: 1000\r\n\r\n{";
  // Older, and of use.
  const int stream = Connect();
  Say(stream,
      "GET /v1/jobs/endless/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Hear(stream, "id: 3\n");
  std::vector<int> fds;
  for (int i = 0; i < 100; ++i) {
    fds.push_back(Connect());
    Say(fds.back(), i % 2 == 0 ? "GET /v1/jobs HT" : body);
  }
  EXPECT_TRUE(Is(Get("/healthz"), 200));
  EXPECT_TRUE(Is(Post("/v1/jobs", "{}"), 200));
  // The first went, the last is still heard.
  EXPECT_EQ(Hear(fds.front()), "");
  Say(fds.back(), std::string(998, ' ') + "}");
  EXPECT_TRUE(Is(Hear(fds.back(), "\r\n\r\n"), 200));
  EXPECT_EQ(jobs_.cancelled, 0);
  for (const int fd : fds) close(fd);
  close(stream);
}

TEST_F(HttpServerTest, HeadsAreBounded) {
  const auto header = [](size_t bytes) {
    return absl::StrCat("Cookie: ", std::string(bytes, 'x'), "\r\n");
  };
  EXPECT_TRUE(Is(Get("/healthz", header(12 << 10)), 200));
  EXPECT_TRUE(Is(Get("/healthz", header(16 << 10)), 431));
}

// As many as all of them may have together, and one.
TEST_F(HttpServerTest, LongHeadsThatDoNotEndAreCut) {
  const int small = Connect();
  Say(small, "GET /healthz HTTP/1.1\r\nHost: loc");
  std::vector<int> fds;
  for (int i = 0; i < 5; ++i) {
    fds.push_back(Connect());
    Say(fds.back(), absl::StrCat("GET / HTTP/1.1\r\nCookie: ",
                                 std::string(size_t{14} << 10, 'x')));
  }
  // Which one is cut depends on which head is longest: all are alike.
  std::vector<pollfd> polls;
  for (const int fd : fds) polls.push_back({fd, POLLIN, 0});
  EXPECT_EQ(poll(polls.data(), polls.size(), 20'000), 1);
  Say(small, "alhost\r\n\r\n");
  EXPECT_TRUE(Is(Hear(small, "\r\n\r\n"), 200));
  for (const int fd : fds) close(fd);
  close(small);
}

// More than heads that do not end may have together.
TEST_F(HttpServerTest, ManyRequestsOfOneConnectionAreNoLongHead) {
  const int fd = Connect();
  const std::string cookie(size_t{12} << 10, 'x');
  const std::string get = absl::StrCat(
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nCookie: ", cookie,
      "\r\n\r\n");
  const std::string post = absl::StrCat(
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: 1000\r\n\r\n{",
      std::string(998, ' '), "}");
  for (int i = 0; i < 8; ++i) {
    Say(fd, get);
    EXPECT_TRUE(Is(Hear(fd, "\"ok\"}\n"), 200));
  }
  for (int i = 0; i < 80; ++i) {
    Say(fd, post);
    EXPECT_TRUE(Is(Hear(fd, "}\n"), 200));
  }
  // Beside heads that have nearly all that is allowed: were the lines of those
  // requests taken for a head, one of these would be cut.
  std::vector<pollfd> heads;
  for (int i = 0; i < 4; ++i) {
    heads.push_back({Connect(), POLLIN, 0});
    Say(heads.back().fd,
        absl::StrCat("GET / HTTP/1.1\r\nCookie: ", std::string(15'850, 'x')));
  }
  EXPECT_EQ(poll(heads.data(), heads.size(), 1500), 0);
  Say(fd, get);
  EXPECT_TRUE(Is(Hear(fd, "\"ok\"}\n"), 200));
  for (const pollfd& head : heads) close(head.fd);
  close(fd);
}

// By a thread of its own.
TEST_F(HttpServerTest, LargeJsonIsParsedAndWritten) {
  http_.reset();
  Start(1 << 20);
  const std::string space(kLargeJsonBytes, ' ');
  const std::string small =
      Post("/v1/jobs", absl::StrCat("{\"model_name\":", space, "\"net\"}"));
  EXPECT_TRUE(absl::EndsWith(small, "{\"id\":\"net\"}\n")) << small;
  const std::string name(kLargeJsonBytes, 'n');
  const std::string large =
      Post("/v1/jobs", absl::StrCat("{\"model_name\":\"", name, "\"}"));
  EXPECT_TRUE(Is(large, 200));
  EXPECT_TRUE(absl::EndsWith(large, absl::StrCat("{\"id\":\"", name, "\"}\n")));
  const std::string wrong = Post("/v1/jobs", absl::StrCat(space, "]"));
  EXPECT_TRUE(Is(wrong, 400)) << wrong;
  EXPECT_TRUE(absl::StrContains(wrong, "BAD_REQUEST")) << wrong;
  // It is still there when the server ends.
  const int fd = Connect();
  Say(fd, absl::StrCat("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Type: application/json\r\nContent-Length: ",
                       space.size() + 2, "\r\n\r\n{", space, "}"));
  http_.reset();
  close(fd);
}

// Also where the chunks, or what follows them, do not end.
TEST_F(HttpServerTest, ChunkedBodiesAreRefused) {
  const std::string x(size_t{14} << 10, 'x');
  for (const std::string& body :
       {std::string("2\r\n{}\r\n0\r\n\r\n"), absl::StrCat("2;", x),
        absl::StrCat("0\r\nX: ", x)}) {
    for (const char* verb : {"POST", "GET", "HEAD", "PUT"}) {
      const int fd = Connect();
      Say(fd, absl::StrCat(verb,
                           " /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
                           "Content-Type: application/json\r\n"
                           "Transfer-Encoding: chunked\r\n\r\n",
                           body));
      // The connection ends, too.
      const std::string answer = Hear(fd);
      EXPECT_TRUE(Is(answer, 411)) << verb << " " << answer;
      if (std::string(verb) != "HEAD") {
        EXPECT_TRUE(absl::StrContains(answer, "Content-Length; with curl"))
            << answer;
      }
      close(fd);
    }
  }
}

// Health is answered whoever watches.
TEST_F(HttpServerTest, CallsLeaveConnectionsForHealth) {
  std::vector<int> fds;
  for (int i = 0; i < 25; ++i) {
    fds.push_back(Connect());
    Say(fds.back(),
        "GET /v1/jobs/endless/events HTTP/1.1\r\n"
        "Host: localhost\r\n\r\n");
    Hear(fds.back(), "id: 3\n");
  }
  const std::string more = Get("/v1/jobs/j1");
  EXPECT_TRUE(Is(more, 503)) << more;
  EXPECT_TRUE(absl::StrContains(more, "Retry-After: 1\r\n")) << more;
  EXPECT_TRUE(Is(Get("/healthz"), 200));
  for (const int fd : fds) close(fd);
}

}  // namespace
}  // namespace edgekiln::server
